# x86_64 only
# One byte of a file that is spliced into a pipe or socket keeps its whole page, also after the file was truncated.
import asyncio, shutil, subprocess

with open("file", "wb") as file:
    file.write(b"x" * 5000)
source, target = open("file", "rb"), open("copy", "wb")
reading, writing = os.pipe()
_, other = os.pipe()
one, peer = socket.socketpair()
attempt("splice a file into a pipe", lambda: call(275, source.fileno(), 0, writing, 0, 1, 0))
attempt("tee a pipe", lambda: call(276, reading, other, 1, 2))
attempt("send a file to a socket", lambda: os.sendfile(one.fileno(), source.fileno(), 0, 1))
attempt("send a file to a pipe", lambda: os.sendfile(writing, source.fileno(), 0, 1))
attempt("map pages into a pipe", lambda: call(278, writing, 0, 0, 0))

# The twin: programs that copy files this way read and write instead.
same = open("file", "rb").read()


def copied(what, do):
    do()
    print(f"{what}:", "copied" if open("copy", "rb").read() == same else "other bytes", flush=True)
    os.unlink("copy")


copied("shutil.copyfile", lambda: shutil.copyfile("file", "copy"))
for command in ["cp file copy", "cat file > copy", "cat file | cat > copy", "dd if=file of=copy status=none"]:
    copied(command, lambda: subprocess.run(["bash", "-c", command], check=True))
# Without namespaces `copyFile` fails, because it sets the mode of the copy.
NODE = "fs.createReadStream('file').pipe(fs.createWriteStream('copy'))"
if os.environ["TMPDIR"] == "/scratch":
    NODE = "fs.copyFileSync('file', 'copy')"
OTHERS = {
    "/usr/bin/node": ["-e", f"const fs = require('fs'); {NODE}"],
    "/usr/bin/ruby": ["-e", "IO.copy_stream('file', 'copy')"],
    "/usr/bin/perl": ["-MFile::Copy=cp", "-e", "cp('file', 'copy') or die"],
}
for program, arguments in OTHERS.items():
    if os.path.exists(program):
        subprocess.run([program, *arguments], check=True)
        assert open("copy", "rb").read() == same, program
        os.unlink("copy")
print("socket.sendfile:", one.sendfile(open("file", "rb")), "bytes")


async def serve():
    """A server's way to send a file."""
    reader, writer = await asyncio.open_connection(sock=peer)
    await asyncio.get_running_loop().sendfile(writer.transport, open("file", "rb"))


asyncio.run(serve())
print("asyncio: sent", len(one.recv(9000)), "bytes")
