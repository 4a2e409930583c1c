import sys
wanted = int(sys.argv[1]) << 20
for what, make in (
    ("bytes", lambda: bytes(wanted)),
    ("list", lambda: [0] * (wanted // 4)),
    ("text", lambda: "x" * wanted),
    ("number", lambda: 1 << (wanted * 8)),
):
    try:
        made = make()
        print(what, "made")
    except MemoryError:
        print(what, "MemoryError")
    made = None
pieces = []
try:
    while len(pieces) < wanted >> 20:
        pieces.append(bytearray(1 << 20))
    print("pieces made")
except MemoryError:
    del pieces[:]
    print("pieces MemoryError")
print("goes on", len(bytes(10 << 20)))
