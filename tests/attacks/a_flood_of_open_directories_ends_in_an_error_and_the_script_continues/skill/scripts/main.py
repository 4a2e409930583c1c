import errno, os, sys
held = []
try:
    while len(held) < int(sys.argv[1]):
        held.append(os.scandir("."))
except OSError as error:
    print(f"{type(error).__name__} {errno.errorcode[error.errno]}, some were held: {len(held) > 30}")
for listing in held:
    listing.close()
print("then listed again:", os.listdir("."))
