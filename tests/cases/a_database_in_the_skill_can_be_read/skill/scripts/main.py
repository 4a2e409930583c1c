import sqlite3
db = sqlite3.connect("file:/skill/data.db?mode=ro", uri=True)
print(db.execute("select * from t").fetchall())
db = sqlite3.connect("file:/skill/data.db", 5.0, 0, None, True, sqlite3.Connection, 128, True)
print(db.execute("select max(rowid) from t").fetchall())
db = sqlite3.connect("/skill/data.db")
print(db.execute("select count(*) from t").fetchall())
try:
    db.execute("insert into t values (3)")
except sqlite3.OperationalError as error:
    print(error)
