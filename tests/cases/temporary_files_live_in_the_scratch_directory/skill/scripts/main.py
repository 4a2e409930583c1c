import tempfile, os
from pathlib import Path
print(tempfile.gettempdir(), Path.home(), os.path.expanduser("~/x"))
with tempfile.TemporaryDirectory(prefix="work-") as directory:
    path = Path(directory) / "a.txt"
    path.write_text("x")
    print(path.exists(), directory.startswith("/tmp/work-"))
print(os.path.exists(directory))
with tempfile.NamedTemporaryFile("w+", suffix=".json") as file:
    file.write("{}")
    file.seek(0)
    print(file.read(), file.name.endswith(".json"), os.path.exists(file.name))
with tempfile.TemporaryFile() as file:
    file.write(b"abc")
    file.seek(1)
    print(file.read())
fd, name = tempfile.mkstemp()
os.close(fd)
os.remove(name)
print(os.listdir("/tmp"))
