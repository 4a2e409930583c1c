# limits: memory=96 files=256 processes=16 time=20 workspace=0
# A thread that waits in poll keeps files that another thread closes, and nothing shows them. Eight threads keep sockets full of
# bytes in this way.
import select, threading, time


def filled():
    pair = socket.socketpair()
    for each in pair:
        each.setblocking(False)
        try:
            while True:
                each.send(b"x" * (1 << 15))
        except BlockingIOError:
            pass
    return pair


def hide():
    """Closes full sockets that a thread waits for, and returns whether they are still open."""
    sockets = [each for _ in range(60) for each in filled()]
    probe, watched = socket.socketpair()
    wait = select.poll()
    for each in sockets + [watched]:
        wait.register(each, 0)
    threading.Thread(target=wait.poll, daemon=True).start()
    time.sleep(0.05)
    for each in sockets + [watched]:
        each.close()
    probe.setblocking(False)
    try:
        # The end of file, if nothing keeps the other end.
        return probe.recv(1) != b""
    except BlockingIOError:
        kept.append(probe)
        return True


kept = []
print("up to 190 MiB in sockets that are closed", flush=True)
while len(kept) < 8:
    hide()
print("closed", flush=True)
time.sleep(1000)
