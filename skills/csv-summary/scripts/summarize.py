#!/usr/bin/env python3
"""Summarises the columns of a CSV file; reads a JSON request from standard input, prints JSON."""

import argparse
import csv
import json
import sys
from collections import Counter

import columns

KEYS = {"path", "columns", "top", "delimiter"}


class BadRequest(Exception):
    """The request is invalid."""


def read_request(text):
    try:
        request = json.loads(text)
    except ValueError as error:
        raise BadRequest(f"the request is not JSON: {error}") from None
    if not isinstance(request, dict):
        raise BadRequest("the request is not a JSON object")
    unknown = sorted(set(request) - KEYS)
    if unknown:
        raise BadRequest(f"unknown key `{unknown[0]}`; known are {', '.join(sorted(KEYS))}")
    if not isinstance(request.get("path"), str) or not request["path"]:
        raise BadRequest("`path` must name a file")
    wanted = request.get("columns")
    if wanted is not None and not (isinstance(wanted, list) and all(isinstance(c, str) for c in wanted)):
        raise BadRequest("`columns` must be a list of names")
    top = request.get("top", 3)
    if isinstance(top, bool) or not isinstance(top, int) or not 0 <= top <= 100:
        raise BadRequest("`top` must be a number from 0 to 100")
    delimiter = request.get("delimiter")
    if delimiter is not None and not (isinstance(delimiter, str) and len(delimiter) == 1):
        raise BadRequest("`delimiter` must be one character")
    return request["path"], wanted, top, delimiter


def find_delimiter(first_line):
    """The likeliest of the usual delimiters, from the header alone: column names rarely contain one."""
    counts = Counter({sign: first_line.count(sign) for sign in ",;\t|"})
    sign, times = counts.most_common(1)[0]
    return sign if times else ","


def summarize(file, wanted, top, delimiter):
    first_line = file.readline()
    file.seek(0)
    rows = csv.reader(file, delimiter=delimiter or find_delimiter(first_line))
    header = next(rows, None)
    if not header:
        raise BadRequest("the file has no header line")
    missing = [name for name in wanted or [] if name not in header]
    if missing:
        raise BadRequest(f"no column `{missing[0]}`; there are {', '.join(header)}")
    chosen = [(at, columns.Column(name)) for at, name in enumerate(header) if wanted is None or name in wanted]
    count = ragged = 0
    for row in rows:
        if not row:
            continue
        count += 1
        ragged += len(row) != len(header)
        for at, column in chosen:
            column.add(row[at] if at < len(row) else "")
    return {"rows": count, "ragged_rows": ragged, "columns": [column.summary(top) for _, column in chosen]}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog='example: echo \'{"path": "sales.csv", "columns": ["price"]}\' | summarize.py',
    )
    parser.parse_args()
    try:
        path, wanted, top, delimiter = read_request(sys.stdin.read())
        with open(path, encoding="utf-8-sig", newline="") as file:
            result = summarize(file, wanted, top, delimiter)
    except BadRequest as error:
        print(f"summarize.py: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"summarize.py: {path}: {error.strerror}", file=sys.stderr)
        return 1
    except (UnicodeDecodeError, csv.Error) as error:
        print(f"summarize.py: {path}: not a CSV file in UTF-8: {error}", file=sys.stderr)
        return 1
    json.dump({"path": path, **result}, sys.stdout, indent=2, ensure_ascii=False)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
