# limits: memory=64
try:
    b"x" * (512 << 20)
    print("512 MiB: had")
except MemoryError:
    print("512 MiB: MemoryError")
try:
    memory = []
    while True:
        memory.append(b"x" * (1 << 20))
        if len(memory) > 200:
            print("200 MiB in pieces: had")
            break
except MemoryError:
    memory = None
    print("many pieces: MemoryError")
# The twin.
print("16 MiB:", len(b"x" * (16 << 20)))
