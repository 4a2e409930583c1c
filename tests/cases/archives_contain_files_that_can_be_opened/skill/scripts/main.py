import io, os, tarfile, zipfile, gzip, zlib
from pathlib import Path
Path("/tmp/d").mkdir()
Path("/tmp/d/a.txt").write_text("hello")
with zipfile.ZipFile("/tmp/a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
    archive.write("/tmp/d/a.txt", "a.txt")
    archive.writestr("b.txt", "b" * 1000)
with zipfile.ZipFile("/tmp/a.zip") as archive:
    print([(i.filename, i.file_size, oct(i.external_attr >> 16)) for i in archive.infolist()], archive.testzip())
    archive.extractall("/tmp/unzipped")
with tarfile.open("/tmp/a.tar.gz", "w:gz") as archive:
    archive.add("/tmp/d", "d")
with tarfile.open("/tmp/a.tar.gz") as archive:
    print([(m.name, oct(m.mode)) for m in archive])
    archive.extractall("/tmp/untarred", filter="data")
print(Path("/tmp/untarred/d/a.txt").read_text(), sorted(os.listdir("/tmp/unzipped")))
print(gzip.decompress(gzip.compress(b"x" * 100)) == b"x" * 100, zlib.crc32(b"abc"))
