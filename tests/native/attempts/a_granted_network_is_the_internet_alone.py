# limits: network=1
# x86_64 only
def stream(family, address):
    return socket.socket(family, socket.SOCK_STREAM).connect(address)


attempt("a stream to a path", lambda: stream(socket.AF_UNIX, f"{ROOT}/shared/stream"))
attempt("a stream to a name", lambda: stream(socket.AF_UNIX, f"\0{ROOT}stream"))
attempt("netlink, audit", lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 9))
attempt("packets of a wire", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
attempt("vsock", lambda: socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM))


def connect_a_pair(kind, address):
    def do():
        call(53, 1, kind, 0, (handles := (ctypes.c_int * 2)()))
        return socket.socket(fileno=handles[0]).connect(address)
    return do


attempt("a pair of datagram sockets, connected to a path", connect_a_pair(2, f"{ROOT}/shared/datagram"))
attempt("a pair of streams, connected to a path", connect_a_pair(1, f"{ROOT}/shared/stream"))
attempt("a pair of packet sockets, connected to a name", connect_a_pair(5, f"\0{ROOT}stream"))
attempt("raw packets", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP))
# The twin.
attempt("TCP to the host", lambda: stream(socket.AF_INET, ("127.0.0.1", int(os.environ["TCP"]))))


def names():
    paths = filter(os.path.exists, ["/etc/hosts", "/etc/resolv.conf"])
    return sum(os.path.getsize(path) for path in paths) == int(os.environ["NAMES"])


attempt("names are those of the machine", names)
