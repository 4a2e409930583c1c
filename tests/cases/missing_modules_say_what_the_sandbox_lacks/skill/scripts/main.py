import importlib, importlib.util
for name in "ssl bz2 lzma ctypes mmap fcntl pwd grp resource termios curses readline tkinter syslog _multiprocessing pip".split():
    try:
        importlib.import_module(name)
    except ImportError as error:
        print(type(error).__name__, error.name, "|", error)
print(importlib.util.find_spec("ssl"), importlib.util.find_spec("json").origin)
import shutil, tarfile, zipfile, getpass, http.client, http.server, urllib.request, concurrent.futures, multiprocessing, compression.zlib
print("the rest imports")
