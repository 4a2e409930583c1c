# While the kernel writes this list, nobody on the machine can lock a file. Landlock cannot take one file out of /proc.
import fcntl

file = os.open("file", os.O_RDWR | os.O_CREAT)
fcntl.flock(file, fcntl.LOCK_EX)
number = str(os.fstat(file).st_ino)


def listed():
    with open("/proc/locks") as file:
        return "listed" if any(number in line.replace(":", " ").split() for line in file) else "not listed"


attempt("an own lock", listed)
for path in ["/proc/self/status", "/proc/meminfo", "/proc/filesystems"]:
    attempt(path, lambda: read(path))
