import os, sys

os.chdir("/tmp")
LONG = "x" * 240


def chain(name):
    path = name
    os.mkdir(path)
    for _ in range(15):
        path += "/" + LONG
        os.mkdir(path)
    return path


rounds, mebibytes = int(sys.argv[1]), int(sys.argv[2])
written = 0
try:
    for number in range(rounds):
        leaf = chain("a")
        # Removes a file, so that the spent budget is counted again.
        os.mkdir("gone")
        os.rmdir("gone")
        with open(leaf + "/f", "wb", buffering=0) as file:
            wanted = written + (mebibytes << 20)
            while written < wanted:
                # It may write less than it gets.
                written += file.write(bytes(min(1 << 20, wanted - written)))
        os.rename("a", chain(f"b{number}") + "/a")
    print("all written")
except OSError as error:
    print("stopped:", type(error).__name__)
print("within the limit:", written <= 64 << 20)
