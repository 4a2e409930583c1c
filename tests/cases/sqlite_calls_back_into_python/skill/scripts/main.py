import sqlite3


class Longest:
    def __init__(self):
        self.best = ""

    def step(self, text):
        self.best = max(self.best, text, key=len)

    def finalize(self):
        return self.best


db = sqlite3.connect(":memory:")
db.create_function("twice", 1, lambda number: number * 2, deterministic=True)
db.create_aggregate("longest", 1, Longest)
db.create_collation("backwards", lambda a, b: (a < b) - (a > b))
db.execute("create table word (text)")
db.executemany("insert into word values (?)", [("one",), ("three",), ("two",)])
print(db.execute("select twice(21), longest(text) from word").fetchone())
print(db.execute("select text from word order by text collate backwards").fetchall())

seen = []
db.set_trace_callback(seen.append)
db.execute("select count(*) from word")
print(seen)
db.set_authorizer(lambda action, *_: sqlite3.SQLITE_DENY if action == sqlite3.SQLITE_DELETE else sqlite3.SQLITE_OK)
for statement in ("delete from word", "select broken(1)"):
    try:
        db.execute(statement)
    except sqlite3.DatabaseError as error:
        print(type(error).__name__, error)

db.create_function("broken", 0, lambda: 1 / 0)
try:
    db.execute("select broken()")
except sqlite3.OperationalError as error:
    print(error)

copy = sqlite3.connect(":memory:")
db.set_authorizer(None)
db.commit()
db.backup(copy)
print(list(copy.iterdump()))
copy.execute("create table file (bytes blob)")
copy.execute("insert into file values (zeroblob(8))")
with copy.blobopen("file", "bytes", 1) as blob:
    blob.write(b"hello")
print(copy.execute("select bytes from file").fetchone())
again = sqlite3.connect(":memory:")
again.deserialize(copy.serialize())
print(again.execute("select count(*) from word").fetchone())
