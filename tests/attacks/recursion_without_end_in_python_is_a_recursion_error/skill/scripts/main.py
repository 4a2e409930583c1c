import ast, copy, json, pickle, re, sys
depth = int(sys.argv[1])
sys.setrecursionlimit(10**6)

def attempt(what, do):
    try:
        do()
        print(f"{what}: done")
    except (RecursionError, MemoryError, ValueError, re.error, SyntaxError) as error:
        print(f"{what}: {type(error).__name__}")


class Node:
    def __repr__(self): return repr(self.next)
    def __eq__(self, other): return self.next == other.next
    def __hash__(self): return hash(self.next)
    def __getattr__(self, name): return getattr(self, name)

node = Node()
node.next = node
attempt("calls through map", lambda: (lambda f: f(f, depth))(lambda f, n: n and list(map(lambda m: f(f, m), [n - 1]))))
attempt("calls through sorted", lambda: (lambda f: f(f, depth))(lambda f, n: n and sorted([1], key=lambda _: f(f, n - 1) and 0 or 0)))
if depth > 1000:
    attempt("repr", lambda: repr(node))
    attempt("hash", lambda: hash(node))
    attempt("equality", lambda: node == Node.__new__(Node))
    attempt("attributes", lambda: node.missing)
print("goes on")
