# limits: time=30 memory=128
# The twin of the limit on file locks: what programs do with them. Locks of open files are refused, because nothing shows whose
# they are.
import fcntl, sqlite3, struct

RANGE = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 1, 0)
file = os.open("file", os.O_RDWR | os.O_CREAT)
for name, number in [("F_OFD_GETLK", 36), ("F_OFD_SETLK", 37), ("F_OFD_SETLKW", 38)]:
    attempt(name, lambda: fcntl.fcntl(file, number, RANGE))
for at in range(1000, 0, -1):
    fcntl.lockf(file, fcntl.LOCK_EX, 1, 2 * at)
print("1000 locks: taken")


def taken():
    fcntl.lockf(os.open("file", os.O_RDWR), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 2)


print("by another process:", child(taken))
# Another open file of the same process: closing it releases the locks.
os.close(os.open("file", os.O_RDWR))
print("once they are released:", child(taken))
fcntl.flock(file, fcntl.LOCK_EX)
print("flock: taken;", "by another:", child(lambda: fcntl.flock(os.open("file", os.O_RDWR), fcntl.LOCK_EX | fcntl.LOCK_NB)))
for mode in ["delete", "wal"]:
    one = sqlite3.connect(f"{mode}.db", timeout=0, isolation_level=None)
    one.execute(f"pragma journal_mode = {mode}")
    one.execute("create table t (x)")
    one.execute("begin immediate")
    one.execute("insert into t values (1)")
    other = sqlite3.connect(f"{mode}.db", timeout=0, isolation_level=None)
    try:
        other.execute("begin immediate")
    except sqlite3.OperationalError as error:
        print(f"sqlite, {mode}: {error}")
    one.execute("commit")
    other.execute("insert into t select x + 1 from t")
    print(f"sqlite, {mode}:", other.execute("select x from t").fetchall())
