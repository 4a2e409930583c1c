# limits: memory=64 files=256 processes=16 time=20 network=1
# Bytes that wait in connections, in which a machine lets them grow to some megabytes each.
import time

listener = socket.create_server(("127.0.0.1", 0), backlog=128)
print("up to 90 connections that nobody reads from", flush=True)
kept = []
for _ in range(90):
    one = socket.create_connection(listener.getsockname())
    kept += [one, listener.accept()[0]]
    one.setblocking(False)
    try:
        for _ in range(2000):
            one.send(b"x" * (1 << 15))
    except BlockingIOError:
        pass
time.sleep(1000)
