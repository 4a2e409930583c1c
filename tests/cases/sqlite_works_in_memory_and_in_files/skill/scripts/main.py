import sqlite3
from pathlib import Path
memory = sqlite3.connect(":memory:")
memory.execute("create table t (a, b)")
memory.executemany("insert into t values (?, ?)", [(i, f"row {i}") for i in range(3)])
print(memory.execute("select sum(a), group_concat(b) from t").fetchone())
for path in ("/tmp/a.db", "/workspace/b.db"):
    with sqlite3.connect(path) as db:
        db.execute("create table notes (id integer primary key, text)")
        db.execute("insert into notes (text) values ('ä'), ('b')")
    db.close()
    db = sqlite3.connect(path)
    print(db.execute("select * from notes").fetchall(), db.execute("pragma integrity_check").fetchone())
    db.close()
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    print(db.execute("select count(*) from notes").fetchone())
    try:
        db.execute("insert into notes (text) values ('c')")
    except sqlite3.OperationalError as error:
        print(error)
    db.close()
    db = sqlite3.connect(f"file:{path}?immutable=1", uri=True)
    print(db.execute("select text from notes order by id desc").fetchall())
    db.close()
print(json := memory.execute("""select json_extract('{"a": 5}', '$.a')""").fetchone())
first, second = sqlite3.connect("/tmp/a.db"), sqlite3.connect("/tmp/a.db")
first.execute("begin immediate")
first.execute("insert into notes (text) values ('d')")
first.commit()
print(second.execute("select count(*) from notes").fetchone())
