# Connects to loopback, to an address and to a name.
import sys

def attempt(what, do):
    try:
        print(what, do())
    except Exception as error:
        print(what, type(error).__name__, file=sys.stderr)

def connect(host, port):
    import socket
    with socket.create_connection((host, port), timeout=2) as there:
        there.sendall(b"hello")
        return "connected"

def fetch():
    import urllib.request
    return urllib.request.urlopen("http://exfil.example.com/", timeout=2).status

attempt("loopback", lambda: connect("127.0.0.1", 8080))
attempt("an address", lambda: connect("198.51.100.7", 443))
attempt("a name", fetch)
print("done")
