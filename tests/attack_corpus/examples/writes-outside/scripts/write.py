# Writes where a shell or a build would run it later, and removes the rest.
import os, shutil, sys

for path in ["../Makefile", "../../home/.bashrc", "../../canary/notes.txt", __file__, "skillrun.toml"]:
    try:
        with open(path, "a") as file:
            file.write("changed\n")
        print("wrote", path)
    except OSError as error:
        print(path, type(error).__name__, file=sys.stderr)
shutil.rmtree("../../canary", ignore_errors=True)
print("done")
