"""There is no network here, and the error says so, at once and in every library's own words.

It is refused where all of them pass: when a socket is made and when a name is looked up. Without TLS the
library hides its HTTPS classes and urllib would call `https` an unknown kind of address, so those
classes are put back: they fail with the same sentence.
"""

import errno

from . import denials, stdlib

MESSAGE = "the network is not available in this sandbox"


def install():
    stdlib.after_import.update({
        "socket": _adjust_socket,
        "http.client": _adjust_http_client,
        "urllib.request": _adjust_urllib_request,
        "asyncio.base_events": _adjust_event_loop,
    })


def _refuse(*args, **options):
    raise OSError(errno.ENETUNREACH, MESSAGE)


def _refuse_address(address=None, *rest, **options):
    # A host and a port, or for some families something else.
    host, port, *_ = address if isinstance(address, tuple) and len(address) >= 2 else (None, None)
    raise _denied(host, port)


def _refuse_name(host=None, port=None, *rest, **options):
    raise _denied(host, port)


def _denied(host=None, port=None):
    denials.network(host, port)
    return OSError(errno.ENETUNREACH, MESSAGE)


def _adjust_socket(socket):
    local = getattr(socket, "AF_UNIX", None)

    def refuse(self, family=-1, *rest, **options):
        # Where it would connect to is not known yet; to this machine only, in one family.
        raise OSError(errno.ENETUNREACH, MESSAGE) if family == local else _denied()

    socket.socket.__init__ = refuse
    socket.gethostname = lambda: "sandbox"
    socket.getfqdn = lambda name="": name.strip() or "sandbox"
    for name in ("socketpair", "fromfd"):
        setattr(socket, name, _refuse)
    for name in ("create_connection", "create_server", "getnameinfo"):
        setattr(socket, name, _refuse_address)
    for name in ("getaddrinfo", "gethostbyname", "gethostbyname_ex", "gethostbyaddr"):
        setattr(socket, name, _refuse_name)


def _adjust_event_loop(base_events):
    async def getaddrinfo(self, host, port, **options):
        raise _denied(host, port)

    async def getnameinfo(self, sockaddr, flags=0):
        _refuse_address(sockaddr)

    # Names are looked up in a thread otherwise, and the error would be about threads.
    base_events.BaseEventLoop.getaddrinfo, base_events.BaseEventLoop.getnameinfo = getaddrinfo, getnameinfo


def _adjust_http_client(client):
    if hasattr(client, "HTTPSConnection"):
        return

    class HTTPSConnection(client.HTTPConnection):
        """An HTTPS connection, which needs the network first."""

        default_port = client.HTTPS_PORT

        def __init__(self, host, port=None, *, timeout=None, source_address=None, context=None, blocksize=8192):
            super().__init__(host, port, timeout, source_address, blocksize)

    HTTPSConnection.__module__, HTTPSConnection.__qualname__ = "http.client", "HTTPSConnection"
    client.HTTPSConnection = HTTPSConnection
    client.__all__.append("HTTPSConnection")


def _adjust_urllib_request(request):
    class HTTPSHandler(request.AbstractHTTPHandler):
        """Opens `https` addresses, which needs the network first."""

        def __init__(self, debuglevel=None, context=None, check_hostname=None):
            super().__init__(debuglevel)

        def https_open(self, req):
            return self.do_open(request.http.client.HTTPSConnection, req)

        https_request = request.AbstractHTTPHandler.do_request_

    HTTPSHandler.__module__, HTTPSHandler.__qualname__ = "urllib.request", "HTTPSHandler"
    request.HTTPSHandler = HTTPSHandler
    if "HTTPSHandler" not in request.__all__:
        request.__all__.append("HTTPSHandler")
