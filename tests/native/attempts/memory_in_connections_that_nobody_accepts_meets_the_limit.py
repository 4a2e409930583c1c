# limits: memory=64 files=64 processes=16 time=20 network=1
# Bytes that wait in connections which their listeners have not accepted, and which no process has open.
import time

listeners = [socket.create_server(("127.0.0.1", 0), backlog=128) for _ in range(30)]
print("up to 3000 connections of 64 KiB", flush=True)
for number in range(3000):
    with socket.create_connection(listeners[number % 30].getsockname()) as one:
        one.setblocking(False)
        try:
            one.send(b"x" * (1 << 16))
        except BlockingIOError:
            pass
time.sleep(1000)
