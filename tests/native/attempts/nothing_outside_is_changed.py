# x86_64 only
OUTSIDE = {
    "a home": f"{ROOT}/home/secret",
    "what anybody may write": f"{ROOT}/shared/anybody",
    "the audit log": f"{ROOT}/state/skillrun/audit.jsonl",
    "the policy": f"{ROOT}/skillrun.toml",
    "another skill": f"{ROOT}/skills/other/SKILL.md",
    "the own skill": f"{SKILL}/data",
    "the system": "/usr/bin/env",
}
for what, path in OUTSIDE.items():
    attempt(f"write {what}", lambda: write(path))
    attempt(f"append to {what}", lambda: os.open(path, os.O_WRONLY | os.O_APPEND))
    attempt(f"truncate {what}", lambda: os.truncate(path, 0))
    attempt(f"replace {what}", lambda: (open("new", "w").close(), os.rename("new", path)))
    attempt(f"remove {what}", lambda: os.remove(path))
    attempt(f"move {what} here", lambda: os.rename(path, "moved"))
    attempt(f"exchange {what} with a file", lambda: call(316, -100, b"own", -100, path.encode(), 2))
    attempt(f"write {what} through a hard link", lambda: (os.link(path, "hard"), write("hard")))
    attempt(f"write {what} through a link", lambda: (os.path.lexists("soft") and os.remove("soft"), os.symlink(path, "soft"), write("soft")))
    attempt(f"change the mode of {what}", lambda: os.chmod(path, 0o777))
    attempt(f"change the owner of {what}", lambda: os.chown(path, os.getuid(), os.getgid()))
    attempt(f"change the times of {what}", lambda: os.utime(path, (1, 1)))
    attempt(f"change the attributes of {what}", lambda: os.setxattr(path, "user.x", b"x"))
    attempt(f"make a file beside {what}", lambda: open(os.path.dirname(path) + "/new", "x").close())
    attempt(f"make a directory beside {what}", lambda: os.mkdir(os.path.dirname(path) + "/new"))
    attempt(f"make a link beside {what}", lambda: os.symlink("x", os.path.dirname(path) + "/new"))
    attempt(f"make a hard link beside {what}", lambda: os.link("own", os.path.dirname(path) + "/new"))
    attempt(f"make a pipe beside {what}", lambda: os.mkfifo(os.path.dirname(path) + "/new"))
    attempt(f"change the mode around {what}", lambda: os.chmod(os.path.dirname(path), 0o777))


def open_for_reading(path):
    return os.open(path, os.O_RDONLY)


# What may be read may be opened, but an open file must not be a way to change what it says.
for what, path in (("the own skill", f"{SKILL}/data"), ("the folder of the skill", SKILL), ("the system", "/usr/bin/env")):
    attempt(f"change the mode of {what}, open", lambda: os.fchmod(open_for_reading(path), 0o777))
    attempt(f"change the owner of {what}, open", lambda: os.fchown(open_for_reading(path), os.getuid(), os.getgid()))
    attempt(f"change the times of {what}, open", lambda: os.utime(open_for_reading(path), (1, 1)))
    attempt(f"change the attributes of {what}, open", lambda: os.setxattr(open_for_reading(path), "user.x", b"x"))
    attempt(f"change the flags of {what}, open", lambda: call(16, open_for_reading(path), 0x40086602, ctypes.byref(ctypes.c_long(0x40))))
    attempt(f"open {what} again for writing", lambda: os.open(f"/proc/self/fd/{open_for_reading(path)}", os.O_WRONLY))
    attempt(f"write {what} through memory", lambda: call(9, 0, 4096, 2, 1, open_for_reading(path), 0))
    attempt(f"change the mode of {what} by path handle", lambda: os.chmod(f"/proc/self/fd/{os.open(path, os.O_PATH)}", 0o777))
    attempt(f"change the mode of {what} by call 452", lambda: call(452, -100, path.encode(), 0o777, 0))
for what in ("/proc/sys/kernel/hostname", "/proc/sys/vm/drop_caches", "/proc/sys/kernel/core_pattern", "/proc/self/uid_map", "/proc/self/oom_score_adj", "/proc/1/oom_score_adj", f"/proc/{os.getppid()}/oom_score_adj"):
    attempt(f"write {what.replace(str(os.getppid()), 'PARENT') if os.getppid() > 1 else what}", lambda: os.open(what, os.O_WRONLY))
attempt("make a file in /", lambda: open("/new", "x"))
attempt("make a file in /etc", lambda: open("/etc/new", "x"))
attempt("make a file in /dev", lambda: open("/dev/new", "x"))
attempt("make a file in /var/tmp", lambda: open("/var/tmp/new", "x"))
attempt("make a device in the workspace", lambda: os.mknod("device", stat.S_IFCHR | 0o666, os.makedev(1, 3)))
attempt("make a disk in the workspace", lambda: os.mknod("disk", stat.S_IFBLK | 0o666, os.makedev(254, 0)))
# The twins: the workspace may be changed.
attempt("write the workspace", lambda: write("own"))
attempt("replace in the workspace", lambda: (open("new", "w").close(), os.rename("new", "own")))
attempt("make a hard link in the workspace", lambda: os.link("own", "second"))
attempt("make a pipe in the workspace", lambda: os.mkfifo("pipe"))
attempt("change the mode in the workspace", lambda: os.chmod("own", 0o600))
attempt("change the mode in the workspace, open", lambda: os.fchmod(os.open("own", os.O_RDWR), 0o640))
attempt("change the times in the workspace", lambda: os.utime("own", (1, 1)))
attempt("change the times in the workspace, open", lambda: os.utime(os.open("own", os.O_RDWR), (1, 1)))
attempt("set the times in the workspace to now, open", lambda: os.utime(os.open("own", os.O_RDWR)))
attempt("change the attributes in the workspace", lambda: os.setxattr("own", "user.x", b"x"))
attempt("change the attributes in the workspace, open", lambda: os.setxattr(os.open("own", os.O_RDWR), "user.x", b"x"))
