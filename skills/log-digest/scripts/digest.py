#!/usr/bin/env python3
"""Condenses a log from standard input into counts by level and by message template."""

import argparse
import json
import sys
from collections import Counter

from template import LEVELS, read

# What is kept is bounded, however long the log is.
MAX_TEMPLATES = 20_000
SAMPLE_CHARACTERS = 500


def digest(lines, least):
    """(entries, counts by level, groups) of the lines; a group is one template at one level."""
    levels = Counter()
    groups = {}
    entries = 0
    for line in lines:
        line = line.rstrip("\r\n")
        if not line or line[0].isspace():
            continue
        level, time, template = read(line)
        if least and (level is None or LEVELS.index(level) < LEVELS.index(least)):
            continue
        entries += 1
        levels[level] += 1
        key = (level, template)
        if key not in groups and len(groups) >= MAX_TEMPLATES:
            key = (level, "(other messages)")
        group = groups.setdefault(key, {"count": 0, "first": time, "last": time, "sample": line[:SAMPLE_CHARACTERS]})
        group["count"] += 1
        group["first"] = group["first"] or time
        group["last"] = time or group["last"]
    return entries, levels, groups


def rank(groups, top):
    return sorted(groups.items(), key=lambda item: (-item[1]["count"], item[0][1]))[:top]


def as_text(entries, levels, groups, top):
    yield f"{entries} entries, {len(groups)} templates"
    named = [f"{levels[level]} {level}" for level in reversed(LEVELS) if levels[level]]
    if levels[None]:
        named.append(f"{levels[None]} without a level")
    if named:
        yield ", ".join(named)
    for (level, template), group in rank(groups, top):
        span = ""
        if group["first"]:
            same = group["first"] == group["last"]
            span = f"  ({group['first']})" if same else f"  ({group['first']} – {group['last']})"
        yield f"{group['count']:>7}  {level or '-':<7}  {template}{span}"


def as_json(entries, levels, groups, top):
    ranked = [{"level": level, "template": template, **group} for (level, template), group in rank(groups, top)]
    counts = {level or "none": levels[level] for level in [*reversed(LEVELS), None] if levels[level]}
    result = {"entries": entries, "templates": len(groups), "levels": counts, "groups": ranked}
    yield json.dumps(result, indent=2, ensure_ascii=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--level", choices=LEVELS, help="leave out what is less severe")
    parser.add_argument("--top", type=int, default=20, metavar="N", help="show the N most frequent templates (20)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--fail-on", choices=LEVELS, help="exit with 1 if there is an entry of this level or above")
    args = parser.parse_args()
    if args.top < 0:
        parser.error("argument --top: must not be negative")

    sys.stdin.reconfigure(errors="replace")
    entries, levels, groups = digest(sys.stdin, args.level)
    if not entries:
        print("digest.py: no entries on standard input", file=sys.stderr)
        return 2
    for line in (as_json if args.json else as_text)(entries, levels, groups, args.top):
        print(line)
    if args.fail_on and any(levels[level] for level in LEVELS[LEVELS.index(args.fail_on) :]):
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
