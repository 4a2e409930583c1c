def flood(make):
    def do():
        held = []
        try:
            while len(held) < 10000:
                held.append(make())
        except OSError as error:
            return f"{'fewer than 64' if len(held) < 64 else len(held)}, then {called(error.errno)}"
        finally:
            for each in held:
                each.close()
    return do


class Pipe:
    def __init__(self):
        self.ends = os.pipe()

    def close(self):
        for end in self.ends:
            os.close(end)


attempt("files", flood(lambda: open("own")))
attempt("pipes", flood(Pipe))
attempt("sockets", flood(lambda: socket.socketpair()[0]))
# The twin.
attempt("one more", lambda: open("own").read())
