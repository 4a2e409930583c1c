import stat
# A file that a script makes belongs to its caller, who may be root: with these bits anybody who executes
# it would be the caller.
os.chdir(WORKSPACE)
open("plain", "w").close()
for bits in (0o4755, 0o2755, 0o6755):
    name = f"{bits:o}"
    attempt(f"chmod {name}", lambda: os.chmod("plain", bits))
    attempt(f"chmod {name}, open", lambda: os.fchmod(os.open("plain", os.O_RDONLY), bits))
    attempt(f"make with {name}", lambda: os.close(os.open(f"made{name}", os.O_CREAT | os.O_WRONLY, bits)))
    attempt(f"make without a name with {name}", lambda: os.close(os.open(".", os.O_TMPFILE | os.O_WRONLY, bits)))
    attempt(f"make a pipe with {name}", lambda: os.mknod(f"pipe{name}", bits | stat.S_IFIFO))
attempt("copy a helper with its bits", lambda: os.system("cp -p /usr/bin/passwd helper 2>/dev/null"))
# The twins: modes that hand on nothing, and opening with any number where a mode is not asked for.
attempt("chmod 755", lambda: os.chmod("plain", 0o755))
attempt("make with 755", lambda: os.close(os.open("made755", os.O_CREAT | os.O_WRONLY, 0o755)))
attempt("open with 6755", lambda: os.close(os.open("plain", os.O_RDONLY, 0o6755)))
print("such files:", [name for name in os.listdir(".") if os.lstat(name).st_mode & 0o6000])
