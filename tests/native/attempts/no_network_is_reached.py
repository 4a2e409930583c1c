# x86_64 only
TCP, UDP = int(os.environ["TCP"]), int(os.environ["UDP"])


def stream(family, address):
    return socket.socket(family, socket.SOCK_STREAM).connect(address)


def datagram(family, address):
    return socket.socket(family, socket.SOCK_DGRAM).sendto(b"x", address)


attempt("TCP to the host", lambda: stream(socket.AF_INET, ("127.0.0.1", TCP)))
attempt("TCP to the host by IPv6", lambda: stream(socket.AF_INET6, ("::1", TCP)))
attempt("TCP to the internet", lambda: stream(socket.AF_INET, ("192.0.2.1", 80)))
attempt("UDP to the host", lambda: datagram(socket.AF_INET, ("127.0.0.1", UDP)))
attempt("raw packets", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP))
attempt("ping", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP))
attempt("packets of a wire", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
attempt("netlink, routes", lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0))
attempt("netlink, audit", lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 9))
attempt("netlink, generic", lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16))
attempt("a stream to a path", lambda: stream(socket.AF_UNIX, f"{ROOT}/shared/stream"))
attempt("a datagram to a path", lambda: datagram(socket.AF_UNIX, f"{ROOT}/shared/datagram"))
attempt("a stream to a name", lambda: stream(socket.AF_UNIX, f"\0{ROOT}stream"))
attempt("a datagram to a name", lambda: datagram(socket.AF_UNIX, f"\0{ROOT}datagram"))
attempt("vsock to the machine below", lambda: socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM).connect((2, 22)))
attempt("bluetooth", lambda: call(41, 31, 3, 0))
attempt("the kernel's ciphers", lambda: call(41, 38, 5, 0))
attempt("express data path", lambda: call(41, 44, 3, 0))
attempt("a listener", lambda: socket.create_server(("127.0.0.1", 0)))
attempt("a listener at a path", lambda: socket.socket(socket.AF_UNIX).bind("socket"))


# A pair of sockets is for one's own; a datagram socket of a pair could still be told where to send.
def by_pair(kind, address):
    def do():
        pair = call(53, 1, kind, 0, (handles := (ctypes.c_int * 2)()))
        return socket.socket(fileno=handles[0]).sendto(b"x", address) if pair == 0 else pair
    return do


for name, kind in (("a pair of datagram sockets", 2), ("a raw pair", 3), ("a pair of packet sockets", 5), ("a pair of streams", 1)):
    attempt(f"{name}, to a path", by_pair(kind, f"{ROOT}/shared/datagram"))
    attempt(f"{name}, to a name", by_pair(kind, f"\0{ROOT}datagram"))
attempt("a pair of internet sockets", lambda: call(53, 2, 1, 0, (ctypes.c_int * 2)()))
attempt("io_uring, which has its own sockets", lambda: call(425, 8, 0))
try:
    socket.getaddrinfo("localhost.example.com", 80)
    print("a name: resolved")
except socket.gaierror as error:
    print("a name:", error.args[1])
# The twin: one's own.
left, right = socket.socketpair()
left.send(b"word")
print("a pair of one's own:", right.recv(4).decode())
left, right = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
left.send(b"word")
print("a pair of packet sockets of one's own:", right.recv(4).decode())
