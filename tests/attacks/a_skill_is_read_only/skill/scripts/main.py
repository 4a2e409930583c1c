import errno, os, sys

def attempt(what, do):
    try:
        print(f"{what}: {do()!r}")
    except OSError as error:
        print(f"{what}: {type(error).__name__} {errno.errorcode[error.errno]}")

base = os.environ["SKILL_BASE_DIR"]
os.chdir(base)
attempt("create", lambda: open("new.txt", "w").write("x"))
attempt("create exclusively", lambda: open("newer.txt", "x").write("x"))
attempt("append", lambda: open("SKILL.md", "a").write("x"))
attempt("update", lambda: open("data.txt", "r+").write("D"))
attempt("truncate", lambda: os.truncate("data.txt", 1))
attempt("rename", lambda: os.rename("data.txt", "moved.txt"))
attempt("replace", lambda: os.replace("other.txt", "data.txt"))
attempt("link", lambda: os.link("SKILL.md", "hard.md"))
attempt("symlink", lambda: os.symlink("SKILL.md", "soft.md"))
attempt("make a directory", lambda: os.mkdir("folder"))
attempt("remove a directory", lambda: os.rmdir("empty"))
attempt("remove", lambda: os.remove("data.txt"))
attempt("times", lambda: os.utime("SKILL.md", (1, 1)))
attempt("times of the folder", lambda: os.utime(".", (1, 1)))
attempt("write through a descriptor for reading", lambda: os.write(os.open("SKILL.md", os.O_RDONLY), b"x"))
attempt("cut a descriptor for reading short", lambda: os.ftruncate(os.open("SKILL.md", os.O_RDONLY), 0))
print(sorted(os.listdir(".")))
