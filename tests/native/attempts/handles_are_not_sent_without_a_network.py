# Handles in transit show nowhere, and the kernel counts them for all processes of the user together.
one, other = socket.socketpair()
attempt("a handle", lambda: socket.send_fds(one, [b"x"], [0]))
attempt("a message", lambda: one.sendmsg([b"x"]))
attempt("bytes", lambda: one.send(b"x"))
attempt("received", lambda: other.recv(10))
