import ctypes, os, subprocess, sys, threading
from sibling import word
print(sys.argv[1:], os.path.basename(__file__), word)
print(subprocess.run(["echo", "a process"], capture_output=True, text=True).stdout, end="")
threading.Thread(target=print, args=("a thread",)).start()
