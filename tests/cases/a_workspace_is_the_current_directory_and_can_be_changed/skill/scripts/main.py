import os, shutil, glob
from pathlib import Path
print(os.getcwd(), Path.cwd(), sorted(os.listdir(".")), os.path.abspath("in.txt"), Path("in.txt").resolve())
Path("out/deep").mkdir(parents=True)
shutil.copy("in.txt", "out/copy.txt")
shutil.copytree("out", "tree")
os.rename("tree/copy.txt", "tree/deep/renamed.txt")
shutil.move("tree/deep/renamed.txt", "moved.txt")
os.chdir("tree")
print(os.getcwd(), os.listdir("."), os.path.relpath("/workspace/in.txt"))
os.chdir("..")
for root, dirs, files in sorted(os.walk(".")):
    print(root, sorted(dirs), sorted(files))
print(sorted(glob.glob("**/*.txt", recursive=True)), sorted(str(p) for p in Path(".").rglob("*.txt")))
os.symlink("moved.txt", "link")
print(os.readlink("link"), Path("link").resolve(), Path("link").read_text(), os.path.islink("link"), os.path.realpath("link"))
os.utime("moved.txt", (1, 2))
print(os.stat("moved.txt").st_mtime, oct(os.stat("moved.txt").st_mode), oct(os.stat("out").st_mode), os.path.getsize("moved.txt"))
print(sorted((e.name, e.is_file(), e.is_dir(), e.is_symlink()) for e in os.scandir(".")))
shutil.rmtree("tree")
os.remove("link")
with open("in.txt", "a") as file:
    file.write("more\n")
print(sorted(os.listdir(".")), open("in.txt").read())
