import threading


def flood(handle):
    for _ in range(1024):
        rest = b"x" * (16 << 10)
        while rest:
            rest = rest[os.write(handle, rest):]


both = [threading.Thread(target=flood, args=(handle,)) for handle in (1, 2)]
for each in both:
    each.start()
for each in both:
    each.join()
sys.exit(7)
