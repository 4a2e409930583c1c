import os

print(sorted(os.listdir(".")), sorted(os.listdir("sub")))
print(open("granted.txt").read(), open("beside.txt").read(), open("sub/granted.txt").read(), open("sub/beside.txt").read())
open("sub/new.txt", "w").write("written")
os.rename("sub/new.txt", "sub/renamed.txt")
print(open("sub/renamed.txt").read())
