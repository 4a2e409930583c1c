import os, sys
count = int(sys.argv[1])
for n in range(count):
    open(f"/tmp/{n}", "w").write("x")
print(len(os.listdir("/tmp")), sum(1 for _ in os.scandir("/tmp")))
