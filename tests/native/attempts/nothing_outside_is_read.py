OUTSIDE = {
    "the passwords": "/etc/shadow",
    "a home": f"{ROOT}/home/secret",
    "the audit log": f"{ROOT}/state/skillrun/audit.jsonl",
    "the policy": f"{ROOT}/skillrun.toml",
    "another skill": f"{ROOT}/skills/other/SKILL.md",
    "what anybody may read": f"{ROOT}/shared/anybody",
}
for what, path in OUTSIDE.items():
    attempt(f"read {what}", lambda: read(path))
for what, path in OUTSIDE.items():
    attempt(f"read {what} by climbing out of the workspace", lambda: read("../" * 20 + path))
for what, path in OUTSIDE.items():
    os.symlink(path, "link")
    attempt(f"read {what} through a link", lambda: read("link"))
    os.remove("link")
for what, path in OUTSIDE.items():
    attempt(f"read {what} through a hard link", lambda: (os.link(path, "hard"), read("hard"))[1])
for what, path in OUTSIDE.items():
    attempt(f"read {what} below /proc/self/root", lambda: read(f"/proc/self/root{path}"))
attempt("read a home below /proc/self/cwd", lambda: read("/proc/self/cwd/../home/secret"))
attempt("read a home through a handle of the skill", lambda: read(f"/proc/self/fd/{os.open(SKILL, os.O_RDONLY)}/../home/secret"))
attempt("read a home from a directory opened by path alone", lambda: os.open("home/secret", os.O_RDONLY, dir_fd=os.open(ROOT, os.O_PATH)))
for what in ("/", "/root", "/home", "/etc", "/var", "/run", "/sys", ROOT, f"{ROOT}/home"):
    attempt(f"list {what.replace(ROOT, '{root}')}", lambda: "listed" if os.listdir(what) else "empty")
attempt("enter a home", lambda: os.chdir(f"{ROOT}/home"))
os.chdir(WORKSPACE)


def answer(do):
    try:
        return do()
    except OSError as error:
        return called(error.errno)


# Which of them there are is up to the machine; a container may have laid an empty file over one.
TABLES = ["kcore", "kmsg", "kpageflags", "kpagecount", "slabinfo", "timer_list", "vmallocinfo"]
TABLES = [f"/proc/{name}" for name in TABLES if os.path.exists(f"/proc/{name}")]
print("read the tables of the kernel:", sorted({answer(lambda: read(path)) for path in TABLES} - {"0 bytes"}))
print("write the tables of the kernel:", sorted({answer(lambda: write(path)) for path in TABLES + ["/proc/sys/vm/drop_caches"]}))
# Without a control group there is no inotify; with one there is no such directory.
watched = answer(lambda: call(254, call(294, 0), f"{ROOT}/home".encode(), 2))
print("watch the changes of a home:", "ENOENT or ENOSYS" if watched in ("ENOENT", "ENOSYS") else watched, flush=True)
# The twins: what is granted.
attempt("read the skill", lambda: read(f"{SKILL}/data"))
attempt("read the workspace", lambda: read("own"))
attempt("read the workspace through a link", lambda: (os.symlink("own", "link"), read("link"))[1])
attempt("read the workspace below /proc/self/root", lambda: read(f"/proc/self/root{WORKSPACE}/own"))
attempt("list the skill", lambda: "data" in os.listdir(SKILL))
attempt("own handles", lambda: sorted(int(name) for name in os.listdir("/proc/self/fd"))[:3])
attempt("handles from the host", lambda: [os.readlink(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd") if int(name) > 2 and os.path.exists(f"/proc/self/fd/{name}") and not os.readlink(f"/proc/self/fd/{name}").startswith((SKILL, "/proc/", "anon_inode:inotify", ROOT))])
