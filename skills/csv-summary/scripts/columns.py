"""Statistics of one column, collected cell by cell without keeping the cells."""

from collections import Counter
from datetime import date

MISSING = {"", "na", "n/a", "null", "none", "-"}
BOOLEAN = {"true", "false", "yes", "no"}
# Beyond this many different values a list of the most frequent ones says little.
MAX_DISTINCT = 100_000


def as_number(text):
    """The number in a cell, or None; `nan` and `inf` are words here."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if number - number == 0 and "_" not in text else None


def as_date(text):
    try:
        return date.fromisoformat(text) if len(text) == 10 else None
    except ValueError:
        return None


class Column:
    """A column whose type is the narrowest that all its cells fit."""

    def __init__(self, name):
        self.name = name
        self.missing = 0
        self.values = Counter()
        self.counted_all = True
        self.fits = {"integer": True, "number": True, "date": True, "boolean": True}
        self.total = 0.0
        self.numbers = [None, None]
        self.dates = [None, None]
        self.lengths = [None, None]
        self.filled = 0

    def add(self, cell):
        text = cell.strip()
        if text.lower() in MISSING:
            self.missing += 1
            return
        self.filled += 1
        if text in self.values or len(self.values) < MAX_DISTINCT:
            self.values[text] += 1
        else:
            self.counted_all = False
        widen(self.lengths, len(text))
        self.fits["boolean"] &= text.lower() in BOOLEAN
        if self.fits["number"]:
            number = as_number(text)
            self.fits["number"] = number is not None
            self.fits["integer"] &= text.lstrip("+-").isdecimal()
            if number is not None:
                self.total += number
                widen(self.numbers, int(text) if self.fits["integer"] else number)
        if self.fits["date"]:
            day = as_date(text)
            self.fits["date"] = day is not None
            if day is not None:
                widen(self.dates, day)

    @property
    def type(self):
        if not self.filled:
            return "empty"
        if self.fits["number"]:
            return "integer" if self.fits["integer"] else "number"
        return next((kind for kind in ("date", "boolean") if self.fits[kind]), "text")

    def summary(self, top):
        kind = self.type
        result = {"name": self.name, "type": kind, "missing": self.missing, "distinct": len(self.values)}
        if not self.counted_all:
            result["distinct_at_least"] = True
        if kind in ("integer", "number"):
            result["min"], result["max"] = self.numbers
            result["mean"] = round(self.total / self.filled, 6)
        elif kind == "date":
            result["min"], result["max"] = (day.isoformat() for day in self.dates)
        elif kind == "text":
            result["shortest"], result["longest"] = self.lengths
        # Equal counts are sorted by text, so that the answer does not depend on the order of the rows.
        ranked = sorted(self.values.items(), key=lambda item: (-item[1], item[0]))
        result["top"] = [{"value": value, "count": count} for value, count in ranked[:top]]
        return result


def widen(span, value):
    low, high = span
    span[0] = value if low is None or value < low else low
    span[1] = value if high is None or value > high else high
