import sqlite3

db = sqlite3.connect(":memory:")
print(db.execute("select sqlite_version()").fetchone() == (sqlite3.sqlite_version,))
print(".".join(map(str, sqlite3.sqlite_version_info)) == sqlite3.sqlite_version)

db.execute("create virtual table note using fts5(title, body, tokenize = 'porter unicode61 remove_diacritics 2')")
notes = [("Running fast", "hello wide world"), ("Slow", "nothing here"), ("Größe", "über alles")]
db.executemany("insert into note values (?, ?)", notes)
query = "select title, highlight(note, 0, '[', ']'), round(bm25(note), 3) from note where note match ? order by rank"
for words in ("run", "grosse OR größe", "hello NOT nothing", "nothing AND world", "title : slow", "hel*"):
    print(words, db.execute(query, (words,)).fetchall())
print(db.execute("select snippet(note, 1, '<', '>', '…', 2) from note where note match 'world'").fetchone())

db.execute("create virtual table old using fts4(text)")
db.execute("insert into old values ('an older index')")
print(db.execute("select text from old where text match 'older'").fetchall())
db.execute("create virtual table box using rtree(id, left, right)")
db.execute("insert into box values (1, 0, 10)")
print(db.execute("select id from box where left <= 5 and right >= 5").fetchall())
print(db.execute("select sqrt(16), json_extract('{\"a\": [1, 2]}', '$.a[1]')").fetchone())

try:
    db.execute(query, ('"',)).fetchall()
except sqlite3.OperationalError as error:
    print(error.sqlite_errorname, error)
