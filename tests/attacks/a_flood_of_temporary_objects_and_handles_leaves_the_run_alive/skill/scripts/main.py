import os, sys
count = int(sys.argv[1])
for n in range(count):
    open("/tmp/x", "w").close()
    os.listdir("/tmp")
errors = 0
for n in range(count):
    try:
        open("/nowhere")
    except OSError:
        errors += 1
print(errors == count, os.listdir("/tmp"))
