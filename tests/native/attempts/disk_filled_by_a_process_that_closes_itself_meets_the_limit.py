# limits: disk=8 time=60
closed = f"{os.environ['TMPDIR']}/closed"
handle = os.open(closed, os.O_WRONLY | os.O_CREAT, 0o111)
with open(os.path.realpath(sys.executable), "rb") as python:
    os.write(handle, python.read())
os.close(handle)
print("64 MiB into the workspace by a program that cannot be read", flush=True)
os.execv(closed, ["python3", "-c", """
import time
for number in range(64):
    with open(f"file{number}", "wb") as file:
        file.write(b"x" * (1 << 20))
# It is looked at now and then.
time.sleep(1000)
"""])
