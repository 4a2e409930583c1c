# limits: memory=64 files=128 time=20
# The twin: what programs do with sockets and pipes.
import asyncio, fcntl, subprocess

one, other = socket.socketpair()
if os.fork() == 0:
    other.sendall(other.recv(100).upper())
    os._exit(0)
one.sendall(b"hello")
print("pair:", one.recv(100), flush=True)
os.wait()


async def run():
    process = await asyncio.create_subprocess_exec("cat", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    return (await process.communicate(b"through a child"))[0].decode()


print("asyncio:", asyncio.run(run()))
pipes = [os.pipe() for _ in range(40)]
print("40 pipes of", fcntl.fcntl(pipes[0][0], 1032) >> 10, "KiB")  # F_GETPIPE_SZ
one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, b"\1" + bytes(15))
print("option: set")
