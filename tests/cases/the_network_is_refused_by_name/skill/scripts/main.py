import socket, urllib.request, urllib.error, http.client, asyncio

def attempt(name, action):
    try:
        print(name, action())
    except Exception as error:
        print(name, type(error).__name__, error)

attempt("http", lambda: urllib.request.urlopen("http://example.com/", timeout=5))
attempt("https", lambda: urllib.request.urlopen("https://example.com/"))
attempt("request", lambda: urllib.request.urlopen(urllib.request.Request("https://example.com/", data=b"{}", headers={"A": "b"})))
attempt("socket", socket.socket)
attempt("getaddrinfo", lambda: socket.getaddrinfo("example.com", 80))
attempt("create_connection", lambda: socket.create_connection(("127.0.0.1", 80)))
attempt("HTTPSConnection", lambda: http.client.HTTPSConnection("example.com").request("GET", "/"))
attempt("open_connection", lambda: asyncio.run(asyncio.open_connection("example.com", 80)))
print(socket.gethostname(), urllib.error.URLError.__mro__[1].__name__)
