"""Writes records as JSON and reads them back."""

import json

records = [
    {
        "id": n,
        "name": f"record {n} – Grüße",
        "tags": [f"t{n % 7}", f"t{n % 11}", None],
        "size": n * 1.25,
        "nested": {"ok": n % 2 == 0, "path": ["a", "b", str(n)]},
    }
    for n in range(2_000)
]
length = 0
for indent in (None, 2, None, None, None, None, None):
    text = json.dumps(records, indent=indent, sort_keys=True)
    length += len(text)
    records = json.loads(text)
print(length, records[-1]["name"])
