# Writes files of 30 MiB to the scratch directory, opens each for reading and removes it.
import errno, os, sys, tempfile

keep = sys.argv[1] == "keep"
path = os.path.join(tempfile.gettempdir(), "f")
kept = []
try:
    for count in range(6):
        with open(path, "wb") as file:
            for _ in range(30):
                file.write(bytes(1 << 20))
        if keep:
            kept.append(open(path, "rb"))
        os.unlink(path)
        print("file", count)
except OSError as error:
    print(errno.errorcode[error.errno])
