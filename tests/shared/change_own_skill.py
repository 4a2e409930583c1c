import errno, os, sys

def attempt(what, do):
    try:
        print(f"{what}: {do()!r}")
    except OSError as error:
        print(f"{what}: {type(error).__name__} {errno.errorcode[error.errno]}")

skill = os.environ["SKILL_BASE_DIR"]
script = f"{skill}/scripts/main.py"
os.makedirs("own/inner", exist_ok=True)

def through_a_link():
    os.symlink("skill/scripts/main.py", "soft.py")
    open("soft.py", "a").write("x")

def through_a_linked_folder():
    os.symlink("skill", "soft")
    open("soft/new.py", "w").write("x")

def through_a_descriptor():
    folder = os.open("skill/scripts", os.O_RDONLY)
    os.open("new.py", os.O_CREAT | os.O_WRONLY, dir_fd=folder)

attempt("append", lambda: open("skill/scripts/main.py", "a").write("x"))
attempt("append by its own path", lambda: open(script, "a").write("x"))
attempt("append by a detour", lambda: open("own/../skill/scripts/main.py", "a").write("x"))
attempt("append through a link", through_a_link)
attempt("create", lambda: open("skill/scripts/new.py", "w").write("x"))
attempt("create through a linked folder", through_a_linked_folder)
attempt("create through a descriptor", through_a_descriptor)
attempt("hard link out", lambda: os.link("skill/scripts/main.py", "hard.py"))
attempt("hard link in", lambda: os.link("own.txt", "skill/hard.txt"))
attempt("rename the script", lambda: os.rename("skill/scripts/main.py", "main.py"))
attempt("rename over the script", lambda: os.replace("own.txt", "skill/scripts/main.py"))
attempt("rename its folder", lambda: os.rename("skill/scripts", "own/scripts"))
attempt("rename the skill", lambda: os.rename("skill", "own/skill"))
attempt("rename over the skill", lambda: os.replace("own/inner", "skill"))
attempt("remove", lambda: os.remove("skill/scripts/main.py"))
attempt("truncate", lambda: os.truncate("skill/scripts/main.py", 0))
attempt("times", lambda: os.utime("skill/scripts/main.py", (1, 1)))
attempt("times through a link", lambda: os.utime("soft.py", (1, 1)))
attempt("times of the skill", lambda: os.utime("skill", (1, 1)))
attempt("a symlink in the skill", lambda: os.symlink("main.py", "skill/scripts/soft.py"))
attempt("a directory in the skill", lambda: os.mkdir("skill/folder"))
attempt("its neighbour", lambda: open("own.txt", "a").write("x"))
attempt("the script is whole", lambda: open(script).read().endswith("# the last line\n"))
attempt("the skill holds", lambda: sorted(os.listdir(skill)))
attempt("its scripts are", lambda: sorted(os.listdir(f"{skill}/scripts")))
attempt("the times are kept", lambda: os.stat(script).st_mtime > 1 and os.stat(skill).st_mtime > 1)
# the last line
