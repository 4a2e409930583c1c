"""Takes memory in large pieces until there is none, gives it back, and begins again."""

held = []
while True:
    try:
        held.append(bytearray(32 << 20))
    except MemoryError:
        held.clear()
