import errno, os, sys

skills = sys.argv[1]
script = f"{skills}/deploy/scripts/go.sh"


def attempt(what, do):
    try:
        print(f"{what}: {do()!r}")
    except OSError as error:
        print(f"{what}: {type(error).__name__} {errno.errorcode[error.errno]}")


def replace():
    open("own.sh", "w").write("echo own")
    os.replace("own.sh", script)


attempt("append", lambda: open(script, "a").write("x"))
attempt("truncate", lambda: os.truncate(script, 0))
attempt("replace", replace)
attempt("remove", lambda: os.remove(script))
attempt("add a file", lambda: open(f"{skills}/deploy/new.py", "w").write("x"))
attempt("add a skill", lambda: os.mkdir(f"{skills}/other"))
attempt("rename the skill", lambda: os.rename(f"{skills}/deploy", "away"))
attempt("rename all skills", lambda: os.rename(skills, "all"))
attempt("write elsewhere", lambda: open("elsewhere", "w").write("x"))
