import errno, os, sys

outer, name = sys.argv[1:]
path = f"{outer}/{name}"


def attempt(what, act):
    try:
        act()
        print(f"{what}: done")
    except OSError as error:
        print(f"{what}: {type(error).__name__} {errno.errorcode[error.errno]}")


def plant(folder):
    os.makedirs(f"{folder}/deploy")
    open(f"{folder}/deploy/SKILL.md", "w").write("planted")


attempt("link to a folder with it", lambda: (plant(f"evil/{name}"), os.symlink("evil", outer)))
attempt("rename a folder with it", lambda: os.rename("evil", outer))
attempt("make what is around it", lambda: os.mkdir(outer))
attempt("write beside it", lambda: open(f"{outer}/notes.md", "w").write("x"))
attempt("make it", lambda: os.mkdir(path))
attempt("make it by a detour", lambda: os.mkdir(f"{outer}/../{outer}/{name}"))
attempt("make it through a link", lambda: (os.symlink(outer, "by"), os.mkdir(f"by/{name}")))
attempt("a file in its place", lambda: open(path, "x").close())
attempt("rename a folder to it", lambda: os.rename(f"evil/{name}", path))
attempt("link in its place", lambda: os.symlink(f"../evil/{name}", path))
attempt("inward link in its place", lambda: os.symlink("evil", path))
attempt("hard link in its place", lambda: os.link("evil/a", path))
attempt("plant in it", lambda: plant(path))
attempt("rename what is around it", lambda: os.rename(outer, "away"))
attempt("remove what is around it", lambda: (os.remove(f"{outer}/notes.md"), os.rmdir(outer)))
print(sorted(os.listdir(".")), sorted(os.listdir(outer)))
