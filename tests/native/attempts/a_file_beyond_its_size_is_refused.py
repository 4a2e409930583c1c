# limits: file=1 disk=64
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
attempt("a file of two mebibytes", lambda: open("large", "wb", buffering=0).write(b"x" * (2 << 20)))
attempt("one byte more", lambda: open("large", "ab", buffering=0).write(b"x"))
attempt("a hole", lambda: os.truncate("large", 1 << 40))
attempt("a hole in the scratch", lambda: os.truncate(os.open(f"{os.environ['TMPDIR']}/x", os.O_CREAT | os.O_RDWR), 1 << 40))
# The twin.
attempt("a small file", lambda: open("small", "wb", buffering=0).write(b"x" * 1000))
