"""Reports to the host which grant a refused call would have needed. A script may catch the error, and its caller would not
learn of it. The host decides nothing based on it.
"""

# No name is longer. The host truncates further.
_LONGEST = 1024

# Set by `app`: the host's function.
report = None


def process(command=None, is_line=False):
    """A program, or with `is_line` a line for a shell. This interpreter, if there is none."""
    if isinstance(command, bytes):
        command = command.decode("utf-8", "replace")
    if not isinstance(command, str):
        command = "python3"
    elif is_line:
        command = _program(command)
    _send("run", command.rpartition("/")[2] or "sh")


def _program(line):
    """The first word of a line for a shell that is not an assignment."""
    for word in line[:_LONGEST].split():
        name, equals, _ = word.partition("=")
        if not (equals and name.isidentifier()):
            return word
    return ""


def network(host=None, port=None):
    """An address, as far as it is known."""
    if isinstance(host, (bytes, bytearray)):
        host = host.decode("utf-8", "replace")
    if not isinstance(host, str) or not host:
        host = "*"
    elif ":" in host and host[0] != "[":
        host = f"[{host}]"
    if isinstance(port, str) and not port.isdigit():
        port = _SERVICES.get(port)
    _send("net", f"{host}:{port}" if port and host != "*" else host)


# The names of ports that a lookup would know.
_SERVICES = {"http": 80, "https": 443, "ftp": 21, "ssh": 22, "smtp": 25, "domain": 53}


def _send(kind, name):
    # A name may hold half a surrogate pair, which is no text.
    name = name[:_LONGEST].encode("utf-8", "replace").decode()
    report(f"{kind}:{name}")
