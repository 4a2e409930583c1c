#!/usr/bin/env python3
"""Indexes a folder of text and Markdown notes and searches it."""

import argparse
import json
import os
import sqlite3
import sys

from store import Store

ENDINGS = (".md", ".markdown", ".txt", ".rst", ".org")
MAX_BYTES = 5_000_000


def notes_below(folder):
    """Every note below a folder, hidden ones left out, in a stable order."""
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if name.lower().endswith(ENDINGS) and not name.startswith("."):
                yield os.path.normpath(os.path.join(here, name))


def title_of(path, text):
    """The first heading or line, or the file's name."""
    for line in text.splitlines():
        if line.strip(" \t#=-*"):
            return line.strip(" \t#=-*")[:200]
    return os.path.basename(path)


def index(args):
    if not os.path.isdir(args.folder):
        print(f"notes.py: {args.folder}: no such folder", file=sys.stderr)
        return 2
    counts = update(args.db, args.folder)
    print(", ".join(f"{count} {word}" for word, count in counts.items() if count) or "no notes")
    return 1 if counts["failed"] else 0


def update(db, folder):
    """Reads new and changed notes, forgets removed ones, and counts what it did."""
    counts = {"added": 0, "updated": 0, "unchanged": 0, "removed": 0, "failed": 0}
    with Store(db, create=True) as store:
        known = store.known()
        for path in notes_below(folder):
            try:
                state = os.stat(path)
                mark = (state.st_mtime_ns, state.st_size)
                before = known.pop(path, None)
                if before == mark:
                    counts["unchanged"] += 1
                    continue
                if state.st_size > MAX_BYTES:
                    raise OSError(0, f"larger than {MAX_BYTES} bytes")
                with open(path, encoding="utf-8", errors="replace") as file:
                    text = file.read()
            except OSError as error:
                counts["failed"] += 1
                print(f"notes.py: {path}: {error.strerror}", file=sys.stderr)
                continue
            store.put(path, mark, title_of(path, text), text)
            counts["updated" if before else "added"] += 1
        for path in known:
            if belongs(path, folder) and not os.path.exists(path):
                store.forget(path)
                counts["removed"] += 1
    return counts


def belongs(path, folder):
    folder = os.path.normpath(folder)
    return folder == "." or path == folder or path.startswith(folder + os.sep)


def search(args):
    if args.folder is not None:
        if not os.path.isdir(args.folder):
            print(f"notes.py: {args.folder}: no such folder", file=sys.stderr)
            return 2
        update(args.db, args.folder)
    try:
        with Store(args.db) as store:
            found = store.search(args.query, args.limit)
    except FileNotFoundError:
        print(f"notes.py: {args.db}: no index yet; make it with `notes.py index FOLDER`", file=sys.stderr)
        return 2
    if not args.json and not found:
        print("nothing found", file=sys.stderr)
    if args.json:
        keys = ("path", "title", "score", "excerpt")
        rows = [dict(zip(keys, (path, title, round(score, 3), excerpt))) for path, title, score, excerpt in found]
        json.dump(rows, sys.stdout, indent=2, ensure_ascii=False)
        print()
    else:
        for path, title, _, excerpt in found:
            print(f"{path}: {title}\n    {excerpt}")
    return 0 if found else 1


def positive(text):
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--db", default=".notes.db", metavar="FILE", help="the index (.notes.db)")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    one = commands.add_parser("index", help="read new and changed notes")
    one.add_argument("folder", nargs="?", default=".", help="the folder (.)")
    one.set_defaults(do=index)
    one = commands.add_parser("search", help="find notes")
    one.add_argument("query", help='words, word*, "a phrase", -word')
    one.add_argument("--in", dest="folder", metavar="FOLDER", help="index this folder first")
    one.add_argument("--limit", type=positive, default=10, metavar="N", help="show at most N notes (10)")
    one.add_argument("--json", action="store_true", help="print JSON")
    one.set_defaults(do=search)
    args = parser.parse_args()
    try:
        return args.do(args)
    except sqlite3.DatabaseError as error:
        print(f"notes.py: {args.db}: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
