# limits: memory=128 files=64 scratch=16 time=20
# The twin, with three of 4 MiB each, and one that is open twice.
import time

os.chdir(os.environ["TMPDIR"])
kept = []
for number in range(3):
    kept.append(file := os.open(str(number), os.O_RDWR | os.O_CREAT))
    os.unlink(str(number))
    os.write(file, b"x" * (4 << 20))
kept += [os.dup(kept[0]) for _ in range(8)]
time.sleep(0.3)
print("kept:", sum(os.fstat(file).st_size for file in kept[:3]) >> 20, "MiB")
