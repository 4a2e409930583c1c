"""Allocates memory in large pieces until there is none left, frees it, and starts again."""

held = []
while True:
    try:
        held.append(bytearray(32 << 20))
    except MemoryError:
        held.clear()
