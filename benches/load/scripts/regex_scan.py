"""Looks for addresses, dates and words in a long text with regular expressions."""

import re

lines = [
    f"2024-{n % 12 + 1:02}-{n % 28 + 1:02} user{n}@mail{n % 9}.example.org wrote {n * 37} bytes to /var/log/x{n}.log"
    for n in range(12_000)
]
text = "\n".join(lines)
addresses = re.findall(r"\b([\w.+-]+)@((?:[\w-]+\.)+[a-z]{2,})\b", text)
dates = re.findall(r"(?m)^(\d{4})-(0[1-9]|1[0-2])-([0-2]\d)", text)
marked = re.sub(r"(?i)\b(?:wrote|bytes|to)\b", lambda match: match[0].upper(), text)
paths = sum(1 for _ in re.finditer(r"/(?:[^/\s]+/)*[^/\s]+\.log$", text, re.MULTILINE))
numbers = sum(int(number) for number in re.findall(r"(?<= )\d+(?= bytes)", text))
print(len(addresses), len(dates), len(marked), paths, numbers)
