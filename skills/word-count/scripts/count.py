#!/usr/bin/env python3
"""Counts lines, words and characters of text files, and the most frequent words."""

import argparse
import json
import re
import sys
from collections import Counter
from pathlib import Path

WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")


def count(name, text, top):
    words = WORD.findall(text.lower())
    return {
        "file": name,
        "lines": text.count("\n"),
        "words": len(words),
        "characters": len(text),
        "top": Counter(words).most_common(top),
    }


def table(results):
    rows = [("lines", "words", "characters", "file")]
    rows += [(r["lines"], r["words"], r["characters"], r["file"]) for r in results]
    for lines, words, characters, name in rows:
        print(f"{lines:>8} {words:>8} {characters:>11}  {name}")
    for result in results:
        for word, times in result["top"]:
            print(f"{times:>8}  {word}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, help="text files; standard input if none")
    parser.add_argument("--top", type=int, default=0, metavar="N", help="show the N most frequent words")
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args()

    results = []
    for path in args.files:
        try:
            results.append(count(str(path), path.read_text(errors="replace"), args.top))
        except OSError as error:
            sys.exit(f"count.py: {path}: {error.strerror}")
    if not args.files:
        results.append(count("-", sys.stdin.read(), args.top))

    if args.json:
        json.dump(results, sys.stdout, indent=2, ensure_ascii=False)
        print()
    else:
        table(results)


if __name__ == "__main__":
    main()
