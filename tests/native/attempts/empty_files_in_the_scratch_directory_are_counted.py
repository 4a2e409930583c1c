# limits: scratch=1 disk=8 time=20
# An empty file takes no bytes of a disk, so the watch over what is written does not see it; in the scratch
# directory each counts as what a file takes at least.
import time


def flood():
    for number in range(500):
        os.close(os.open(f"empty{number}", os.O_CREAT | os.O_WRONLY))
    return "500 files"


os.chdir(WORKSPACE)
attempt("in the workspace", flood)
os.chdir(os.environ["TMPDIR"])
print("and in the scratch directory", flush=True)
# Where it is not a file system of its own, it is looked at now and then.
attempt("made", lambda: (flood(), time.sleep(1000)))
