import os, sys

folder = sys.argv[1]
for name in ["read", "written", "other", "missing"]:
    path = os.path.join(folder, name)
    for mode in ["r", "a"]:
        try:
            with open(path, mode) as file:
                print(name, mode, os.stat(path).st_size, file.read() if mode == "r" else file.write("more\n"))
        except OSError as error:
            print(name, mode, error.strerror)
print(open(os.path.join(folder, "written")).read())
