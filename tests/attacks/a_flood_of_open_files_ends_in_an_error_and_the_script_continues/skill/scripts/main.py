import errno, sys
wanted = int(sys.argv[1])
held = []
try:
    while len(held) < wanted:
        held.append(open(f"/tmp/{len(held)}", "w"))
except OSError as error:
    print(f"{type(error).__name__} {errno.errorcode[error.errno]} after {len(held)} files")
for file in held:
    file.close()
print("closed", len(held), "then opened again:", open("/tmp/0").read() == "")
