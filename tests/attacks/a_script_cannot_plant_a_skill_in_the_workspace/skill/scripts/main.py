import errno, os, shutil, sys

outer, name = sys.argv[1:]
path = f"{outer}/{name}"


def attempt(what, act, around=True):
    """Starts with a skill to plant in `evil`, and by default with the directories around the path."""
    for old in (outer, "evil", "by", "away"):
        if os.path.islink(old):
            os.remove(old)
        shutil.rmtree(old, ignore_errors=True)
    os.makedirs(f"evil/{name}/deploy")
    open(f"evil/{name}/deploy/SKILL.md", "w").write("planted")
    if around:
        os.makedirs(outer, exist_ok=True)
    try:
        act()
        print(f"{what}: done")
    except OSError as error:
        print(f"{what}: {type(error).__name__} {errno.errorcode[error.errno]}")


def through_a_link():
    os.symlink(outer, "by")
    os.mkdir(f"by/{name}")


attempt("link to a folder with it", lambda: os.symlink("evil", outer), around=False)
attempt("rename a folder with it", lambda: os.rename("evil", outer), around=False)
attempt("make what is around it", lambda: os.mkdir(outer), around=False)
attempt("write beside it", lambda: open(f"{outer}/notes.md", "w").write("x"))
attempt("make it", lambda: os.mkdir(path))
attempt("make it by a detour", lambda: os.mkdir(f"{outer}/../{outer}/{name}"))
attempt("make it through a link", through_a_link)
attempt("make a skill in it", lambda: os.makedirs(f"{path}/deploy"))
attempt("create a file in its place", lambda: open(path, "x").close())
attempt("rename a folder to it", lambda: os.rename(f"evil/{name}", path))
attempt("link in its place", lambda: os.symlink("nowhere", path))
attempt("hard link in its place", lambda: os.link(f"evil/{name}/deploy/SKILL.md", path))
attempt("rename what is around it", lambda: os.rename(outer, "away"))
attempt("rename a folder over what is around it", lambda: os.rename("evil", outer))
attempt("remove what is around it", lambda: os.rmdir(outer))
print("there:", os.path.lexists(path))
