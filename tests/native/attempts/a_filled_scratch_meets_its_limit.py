# limits: scratch=4 disk=8 file=64 time=60 workspace=0
import time

print("4 MiB and more into the scratch directory", flush=True)
os.chdir(os.environ["TMPDIR"])


def fill():
    for number in range(64):
        with open(f"file{number}", "wb", buffering=0) as file:
            for _ in range(16):
                if file.write(b"x" * (1 << 16)) != 1 << 16:
                    raise OSError(errno.ENOSPC, "")
    # Where it is not a file system of its own, it is looked at now and then.
    time.sleep(1000)


attempt("filled", fill)
