#!/usr/bin/env python3
"""Inserts, updates or checks the table of contents of Markdown files."""

import argparse
import os
import sys
from pathlib import Path

from headings import Anchors, headings

BEGIN, END = "<!-- toc -->", "<!-- /toc -->"
SKIPPED_FOLDERS = {"node_modules", ".git", ".venv", "__pycache__"}


class BadMarkers(Exception):
    """The markers in a file do not match."""


def with_table(text, depth):
    """The text with its table as it should be, or None if there is nothing to list."""
    lines = text.splitlines()
    begin, end = marks(lines)
    if begin is not None:
        # The lines of an old table are skipped, or its headings would be listed twice.
        body = lines[: begin + 1] + lines[end:]
    else:
        body = lines
    found = list(headings(body))
    anchors = Anchors()
    entries = []
    for _, level, title in found:
        anchor = anchors.make(title)
        if 2 <= level <= depth:
            entries.append(f"{'  ' * (level - 2)}- [{title}](#{anchor})")
    if not entries:
        return None
    if begin is not None:
        result = lines[: begin + 1] + ["", *entries, ""] + lines[end:]
    else:
        at = next(number for number, level, _ in found if 2 <= level <= depth)
        result = lines[:at] + [BEGIN, "", *entries, "", END, ""] + lines[at:]
    return "\n".join(result) + "\n"


def marks(lines):
    begins = [number for number, line in enumerate(lines) if line.strip() == BEGIN]
    ends = [number for number, line in enumerate(lines) if line.strip() == END]
    if not begins and not ends:
        return None, None
    if len(begins) != 1 or len(ends) != 1 or begins[0] > ends[0]:
        raise BadMarkers(f"it needs one `{BEGIN}` and one `{END}` after it")
    return begins[0], ends[0]


def markdown_files(paths):
    for path in map(Path, paths):
        if not path.is_dir():
            yield path
            continue
        for folder, folders, names in os.walk(path):
            folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS)
            yield from (Path(folder, name) for name in sorted(names) if name.endswith(".md"))


def treat(path, depth, check):
    """Updates or checks one file and returns the word for the result."""
    text = path.read_text(encoding="utf-8")
    wanted = with_table(text, depth)
    if wanted is None:
        return "skipped"
    if wanted == text:
        return "unchanged"
    if check:
        return "outdated"
    # All or nothing: a reader never sees half a file.
    part = path.with_name(path.name + ".part")
    part.write_text(wanted, encoding="utf-8")
    part.replace(path)
    return "updated"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="+", metavar="PATH", help="Markdown files, or folders that hold some")
    parser.add_argument("--check", action="store_true", help="change nothing; exit with 1 if a table is out of date")
    parser.add_argument("--depth", type=int, default=3, choices=range(2, 7), metavar="N", help="deepest level, 2 to 6")
    args = parser.parse_args()

    words, failed = [], False
    for path in markdown_files(args.paths):
        try:
            words.append(treat(path, args.depth, args.check))
            print(f"{words[-1]:<9} {path}")
        except OSError as error:
            failed = True
            print(f"toc.py: {path}: {error.strerror}", file=sys.stderr)
        except UnicodeDecodeError:
            failed = True
            print(f"toc.py: {path}: not UTF-8 text", file=sys.stderr)
        except BadMarkers as error:
            failed = True
            print(f"toc.py: {path}: {error}", file=sys.stderr)
    if failed:
        return 2
    return 1 if "outdated" in words else 0


if __name__ == "__main__":
    sys.exit(main())
