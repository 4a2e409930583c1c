"""Headings of a Markdown text, and the anchors that GitHub gives them."""

import re
import unicodedata

HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
LINK = re.compile(r"!?\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])")


def headings(lines):
    """Yields (line number, level, text) of each heading outside code."""
    fence = None
    for number, line in enumerate(lines):
        opened = FENCE.match(line)
        if fence:
            if opened and opened[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = None
        elif opened:
            fence = opened[1]
        elif found := HEADING.match(line):
            text = plain(found[2] or "")
            if text:
                yield number, len(found[1]), text


def plain(text):
    """The text as it is read: links by their words, code and emphasis without their marks."""
    text = LINK.sub(r"\1", text)
    text = re.sub(r"(\*\*|__|\*|`)(.+?)\1", r"\2", text)
    return text.strip()


class Anchors:
    """Makes anchors that are unique within one document."""

    def __init__(self):
        self.seen = {}

    def make(self, text):
        kept = (c for c in text.lower() if c in " -_" or unicodedata.category(c)[0] in "LNM")
        anchor = "".join(kept).replace(" ", "-")
        times = self.seen.get(anchor, 0)
        self.seen[anchor] = times + 1
        return f"{anchor}-{times}" if times else anchor
