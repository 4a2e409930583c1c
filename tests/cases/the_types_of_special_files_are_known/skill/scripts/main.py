import os
import pathlib
import stat

for name in ("fifo", "socket", "file", "folder"):
    mode = os.stat(name).st_mode
    assert mode == os.lstat(name).st_mode
    path = pathlib.Path(name)
    print(name, oct(mode), stat.filemode(mode), path.is_fifo(), path.is_socket(), path.is_file(), path.is_dir())
