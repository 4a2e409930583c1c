import os, stat
from pathlib import Path
Path("/tmp/run.sh").write_text("#!/bin/sh\n")
os.chmod("/tmp/run.sh", 0o755)
Path("/tmp/run.sh").chmod(0o600)
print(stat.filemode(os.stat("/tmp").st_mode), stat.filemode(os.stat("/tmp/run.sh").st_mode)[0])
try:
    os.chmod("/tmp/missing", 0o755)
except FileNotFoundError as error:
    print("FileNotFoundError", error.filename)
print(os.access("/tmp/run.sh", os.R_OK), os.access("/tmp/missing", os.F_OK), os.umask(0o077) >= 0)
