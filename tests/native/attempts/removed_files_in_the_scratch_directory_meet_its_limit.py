# limits: memory=128 files=64 scratch=16 time=20 disk=200
# Files that were removed take up space as long as they are open. Twelve of 4 MiB each, in a directory limited to 16 MiB.
import time

os.chdir(os.environ["TMPDIR"])
print("up to 48 MiB in removed files", flush=True)
kept = []
for number in range(12):
    kept.append(file := os.open(str(number), os.O_RDWR | os.O_CREAT))
    os.unlink(str(number))
    try:
        os.write(file, b"x" * (4 << 20))
    except OSError as error:
        print(called(error.errno))
        break
    time.sleep(0.1)
