import sys
depth = int(sys.argv[1])
for what, wrap in (("list", lambda v: [v]), ("dict", lambda v: {1: v}), ("tuple", lambda v: (v,))):
    value = None
    for _ in range(depth):
        value = wrap(value)
    del value
    print(what, "freed")
print("goes on")
