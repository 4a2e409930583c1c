# limits: memory=128 files=128 processes=32 time=20 network=1
# The twin: servers, clients, names and addresses, and options that ask for larger buffers.
import http.server, threading, urllib.request


class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"x" * (1 << 20))

    def log_message(self, *words):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Answer)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}/"
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
print("fetched:", sum(len(opener.open(url).read()) for _ in range(20)) >> 20, "MiB")
listener = socket.create_server(("127.0.0.1", 0), backlog=32)
kept = [socket.create_connection(listener.getsockname()) for _ in range(16)]
print("connections:", len([listener.accept() for _ in kept]))
for name in ["SO_SNDBUF", "SO_RCVBUF"]:
    attempt(name, lambda: kept[0].setsockopt(socket.SOL_SOCKET, getattr(socket, name), 8 << 20))
    print("it grew:", kept[0].getsockopt(socket.SOL_SOCKET, getattr(socket, name)) >= 16 << 20)
print("interfaces:", "lo" in [name for _, name in socket.if_nameindex()])
print("names:", socket.getaddrinfo("127.0.0.1", 80, type=socket.SOCK_STREAM)[0][4])
