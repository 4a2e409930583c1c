"""The index of notes: one SQLite file, searched by SQLite's own full-text index.

Notes are ranked by BM25, a word in the title counting more.
"""

import os
import re
import sqlite3

TABLES = """
CREATE TABLE IF NOT EXISTS file (id INTEGER PRIMARY KEY, path TEXT UNIQUE NOT NULL, modified INTEGER, bytes INTEGER);
CREATE VIRTUAL TABLE IF NOT EXISTS note USING fts5(title, body, tokenize = 'unicode61 remove_diacritics 2');
"""
# A title says more about a note than a word in its body.
TITLE_WEIGHT = 4
EXCERPT_WORDS = 12
PART = re.compile(r'(-?)(?:"([^"]*)"|([^\s"]+))')

SEARCH = f"""
SELECT path, title, -bm25(note, {TITLE_WEIGHT}, 1) AS score, snippet(note, 1, '[', ']', '…', {EXCERPT_WORDS})
FROM note JOIN file ON file.id = note.rowid
WHERE note MATCH ? ORDER BY score DESC, path LIMIT ?
"""


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
        """The state of each note when it was read: {path: (modified, bytes)}."""
        rows = self.db.execute("SELECT path, modified, bytes FROM file")
        return {path: (modified, size) for path, modified, size in rows}

    def put(self, path, mark, title, body):
        self.forget(path)
        row = self.db.execute("INSERT INTO file (path, modified, bytes) VALUES (?, ?, ?)", (path, *mark)).lastrowid
        self.db.execute("INSERT INTO note (rowid, title, body) VALUES (?, ?, ?)", (row, title, body))

    def forget(self, path):
        self.db.execute("DELETE FROM note WHERE rowid IN (SELECT id FROM file WHERE path = ?)", (path,))
        self.db.execute("DELETE FROM file WHERE path = ?", (path,))

    def search(self, query, limit):
        """The best notes: (path, title, score, excerpt), a higher score being better."""
        expression = parse(query)
        if expression is None:
            return []
        rows = self.db.execute(SEARCH, (expression, limit))
        return [(path, title, score, " ".join(excerpt.split())) for path, title, score, excerpt in rows]


def parse(query):
    """The query in the index's own language; everything that is not a word is quoted."""
    wanted, unwanted = [], []
    for minus, phrase, word in PART.findall(query):
        text = phrase or word
        if not any(c.isalnum() for c in text):
            continue
        beginning = "*" if word.endswith("*") else ""
        (unwanted if minus else wanted).append(f'"{text}"{beginning}')
    if not wanted:
        return None
    return " NOT ".join(["(" + " AND ".join(wanted) + ")", *unwanted])
