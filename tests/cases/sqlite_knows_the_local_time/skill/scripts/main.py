import sqlite3

db = sqlite3.connect(":memory:")
for moment in ("2024-01-15 12:00", "2024-07-15 12:00", "1969-12-31 23:59"):
    print(db.execute("select datetime(?, 'localtime'), datetime(?, 'utc')", (moment, moment)).fetchone())
