import os, sys
name = sys.argv[1]
open("ready.txt", "w").write("allow = []")


def attempt(what, act):
    try:
        act()
        print(what, "done")
    except OSError as error:
        print(what, type(error).__name__, error.errno)


attempt("create", lambda: open(name, "w").close())
attempt("rename", lambda: os.rename("ready.txt", name))
attempt("link", lambda: os.link("ready.txt", name))
attempt("symlink", lambda: os.symlink("ready.txt", name))
attempt("mkdir", lambda: os.mkdir(name))
attempt("append", lambda: open("below/" + name, "a").close())
print(sorted(os.listdir(".")))
