"""Turns a log line into its level, its time and the template it was made from."""

import json
import re

LEVELS = ["debug", "info", "warning", "error", "fatal"]
OTHER_NAMES = {
    "trace": "debug",
    "notice": "info",
    "warn": "warning",
    "err": "error",
    "severe": "error",
    "critical": "fatal",
    "crit": "fatal",
    "panic": "fatal",
    "emerg": "fatal",
    "alert": "fatal",
}
TIME = re.compile(
    r"\[?(\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d)\]?\s*"
)
LEVEL = re.compile(rf"\b({'|'.join([*LEVELS, *OTHER_NAMES])})\b", re.IGNORECASE)
# A level is named near the beginning; further on it is a word of the message.
LEVEL_WITHIN = 60
REPLACED = [
    (re.compile(r"\"[^\"]*\"|'[^']*'"), "<str>"),
    (re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", re.IGNORECASE), "<id>"),
    (re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b"), "<ip>"),
    (re.compile(r"(?<![\w<])/(?:[\w.@%+~-]+/)*[\w.@%+~-]+"), "<path>"),
    (re.compile(r"\b(?:0x[0-9a-f]+|(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,})\b", re.IGNORECASE), "<id>"),
    (re.compile(r"[-+]?\b\d+(?:\.\d+)?(?=\b|[a-z])"), "<n>"),
]


def level_named(word):
    word = word.lower()
    return word if word in LEVELS else OTHER_NAMES.get(word)


def read(line):
    """(level, time, template) of a line; level and time may be None."""
    if line.startswith("{"):
        try:
            return read_json(json.loads(line))
        except ValueError:
            pass
    time = None
    if found := TIME.match(line):
        time, line = found[1], line[found.end() :]
    level = None
    if found := LEVEL.search(line, 0, LEVEL_WITHIN):
        level = level_named(found[1])
        if not line[: found.start()].strip("[(<: "):
            line = line[found.end() :].lstrip("])>:- \t")
    return level, time, template(line)


def read_json(entry):
    if not isinstance(entry, dict):
        raise ValueError("not an object")
    first = lambda *names: next((entry[name] for name in names if entry.get(name) is not None), None)
    message = first("message", "msg", "event")
    if message is None:
        raise ValueError("no message")
    level = first("level", "severity", "lvl")
    time = first("time", "timestamp", "ts", "@timestamp")
    return level_named(str(level)), None if time is None else str(time), template(str(message))


def template(message):
    for pattern, placeholder in REPLACED:
        message = pattern.sub(placeholder, message)
    return " ".join(message.split())
