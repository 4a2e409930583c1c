import os
for name, value in sorted(os.environ.items()):
    print(f"{name}={value}")
print(os.environ.get("SKILLRUN_TEST_SECRET"), os.getenv("XDG_STATE_HOME"), os.path.expanduser("~"))
