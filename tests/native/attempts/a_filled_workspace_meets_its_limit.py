# limits: disk=8 file=64 time=60
import time

print("64 MiB into the workspace", flush=True)
for number in range(64):
    with open(f"file{number}", "wb", buffering=0) as file:
        for _ in range(16):
            file.write(b"x" * (1 << 16))
# It is looked at now and then.
time.sleep(1000)
