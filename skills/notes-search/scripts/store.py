"""The index of notes: one SQLite file.

SQLite's own full-text search is left out of some builds, so the index is plain tables: which word
occurs in which note how often. Notes are ranked by BM25, a word in the title counting more.
"""

import math
import os
import re
import sqlite3
import unicodedata

TABLES = """
CREATE TABLE IF NOT EXISTS note (
    id INTEGER PRIMARY KEY, path TEXT UNIQUE NOT NULL, modified INTEGER, bytes INTEGER,
    title TEXT NOT NULL, body TEXT NOT NULL, words INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS occurrence (
    word TEXT NOT NULL, note INTEGER NOT NULL, times INTEGER NOT NULL, PRIMARY KEY (word, note)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS occurrence_of_note ON occurrence (note);
"""
# A title says more about a note than a word in its body.
TITLE_WEIGHT = 4
# How soon a repeated word stops counting, and how much long notes are held back: BM25's usual values.
SATURATION, LENGTH = 1.2, 0.75
EXCERPT_WORDS = 12
WORD = re.compile(r"\w+")
PART = re.compile(r'(-?)(?:"([^"]*)"|([^\s"]+))')


class Store:
    """An open index."""

    def __init__(self, path, create=False):
        if not create and not os.path.exists(path):
            raise FileNotFoundError(path)
        self.db = sqlite3.connect(path)
        self.db.executescript(TABLES)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self.db.commit()
        self.db.close()

    def known(self):
        """What each note was when it was read: {path: (modified, bytes)}."""
        rows = self.db.execute("SELECT path, modified, bytes FROM note")
        return {path: (modified, size) for path, modified, size in rows}

    def put(self, path, mark, title, body):
        self.forget(path)
        words = fold(body)
        times = dict.fromkeys(words, 0)
        for word in words:
            times[word] += 1
        for word in fold(title):
            times[word] = times.get(word, 0) + TITLE_WEIGHT - 1
        cursor = self.db.execute(
            "INSERT INTO note (path, modified, bytes, title, body, words) VALUES (?, ?, ?, ?, ?, ?)",
            (path, *mark, title, body, len(words)),
        )
        rows = ((word, cursor.lastrowid, count) for word, count in times.items())
        self.db.executemany("INSERT INTO occurrence (word, note, times) VALUES (?, ?, ?)", rows)

    def forget(self, path):
        self.db.execute("DELETE FROM occurrence WHERE note IN (SELECT id FROM note WHERE path = ?)", (path,))
        self.db.execute("DELETE FROM note WHERE path = ?", (path,))

    def search(self, query, limit):
        """The best notes: (path, title, score, excerpt), a higher score being better."""
        wanted, unwanted = parse(query)
        if not wanted:
            return []
        count, length = self.db.execute("SELECT count(*), avg(words) FROM note").fetchone()
        scores = None
        for part in wanted:
            found = self.find(part, count, length or 1)
            if scores is None:
                scores = found
            else:
                scores = {note: scores[note] + score for note, score in found.items() if note in scores}
        for part in unwanted:
            for note in self.find(part, count, length or 1):
                scores.pop(note, None)
        rows = []
        for note, score in scores.items():
            path, title, body = self.db.execute("SELECT path, title, body FROM note WHERE id = ?", (note,)).fetchone()
            rows.append((path, title, score, body))
        rows.sort(key=lambda row: (-row[2], row[0]))
        return [(path, title, score, excerpt(body, wanted)) for path, title, score, body in rows[:limit]]

    def find(self, part, count, length):
        """The notes that hold a word, a beginning or a phrase: {note: score}."""
        scores = None
        for word in part.words:
            found = self.occurrences(word, part.is_beginning)
            rarity = math.log(1 + (count - len(found) + 0.5) / (len(found) + 0.5))
            ranked = {
                note: rarity * times * (SATURATION + 1) / (times + SATURATION * (1 - LENGTH + LENGTH * size / length))
                for note, (times, size) in found.items()
            }
            if scores is None:
                scores = ranked
            else:
                scores = {note: scores[note] + score for note, score in ranked.items() if note in scores}
        if len(part.words) > 1:
            scores = {note: score for note, score in scores.items() if self.holds_phrase(note, part.words)}
        return scores or {}

    def occurrences(self, word, is_beginning):
        condition, values = ("word >= ? AND word < ?", (word, word + "\U0010ffff")) if is_beginning else ("word = ?", (word,))
        rows = self.db.execute(
            f"SELECT note, sum(times), words FROM occurrence JOIN note ON id = note WHERE {condition} GROUP BY note", values
        )
        return {note: (times, size) for note, times, size in rows}

    def holds_phrase(self, note, words):
        title, body = self.db.execute("SELECT title, body FROM note WHERE id = ?", (note,)).fetchone()
        phrase = " " + " ".join(words) + " "
        return any(phrase in " " + " ".join(fold(text)) + " " for text in (title, body))


class Part:
    """A word, the beginning of one (`word*`), or words that must follow each other."""

    def __init__(self, text):
        self.words = fold(text)
        self.is_beginning = text.endswith("*") and len(self.words) == 1

    def matches(self, word):
        return any(word.startswith(own) if self.is_beginning else word == own for own in self.words)


def parse(query):
    """The parts that must and that must not occur."""
    wanted, unwanted = [], []
    for minus, phrase, word in PART.findall(query):
        part = Part(phrase or word)
        if part.words:
            (unwanted if minus else wanted).append(part)
    return wanted, unwanted


def fold(text):
    """The words of a text, without regard to case and accents."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    return WORD.findall("".join(c for c in plain if not unicodedata.combining(c)))


def excerpt(body, wanted):
    """Some words around the first match, the matches in brackets."""
    words = body.split()
    hits = [any(part.matches(word) for part in wanted for word in fold(text)) for text in words]
    first = hits.index(True) if True in hits else 0
    begin = max(0, min(first - EXCERPT_WORDS // 3, len(words) - EXCERPT_WORDS))
    end = begin + EXCERPT_WORDS
    shown = [f"[{word}]" if hit else word for word, hit in zip(words[begin:end], hits[begin:end])]
    return ("… " if begin else "") + " ".join(shown) + (" …" if end < len(words) else "")
