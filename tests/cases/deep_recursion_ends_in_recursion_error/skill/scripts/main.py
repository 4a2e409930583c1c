import json, re, copy, pickle, ast, sys, functools

def attempt(name, action):
    try:
        action()
        print(name, "done")
    except (RecursionError, MemoryError) as error:
        print(name, type(error).__name__)
    except Exception as error:
        print(name, type(error).__name__, str(error)[:60])

def recurse(n=0):
    return recurse(n + 1) + 1

class Node:
    def __init__(self): self.next = self
    def __repr__(self): return repr(self.next)
    def __eq__(self, other): return self.next == other.next
    def __hash__(self): return hash(self.next)
    def __getattr__(self, name): return getattr(self, name + "x")

nested = []
for _ in range(100000):
    nested = [nested]
attempt("function", recurse)
attempt("json", lambda: json.loads("[" * 100000 + "]" * 100000))
attempt("dumps", lambda: json.dumps(nested))
attempt("repr", lambda: repr(nested))
attempt("deepcopy", lambda: copy.deepcopy(nested))
attempt("pickle", lambda: pickle.dumps(nested))
attempt("literal_eval", lambda: ast.literal_eval("(" * 5000 + ")" * 5000))
attempt("compile", lambda: compile("-" * 100000 + "1", "x", "eval"))
attempt("attribute", lambda: compile("a" + ".b" * 100000, "x", "eval"))
attempt("equal", lambda: Node() == Node())
attempt("hash", lambda: hash(Node()))
attempt("getattr", lambda: Node().missing)
attempt("node repr", lambda: repr(Node()))
attempt("re", lambda: re.match("(" * 5000 + ")" * 5000, "x"))
attempt("re run", lambda: re.match("(?:a|b)*c", "ab" * 100000))
attempt("sort", lambda: sorted([1, 2], key=functools.cmp_to_key(lambda a, b: recurse())))
sys.setrecursionlimit(10**9)
attempt("unlimited", recurse)
attempt("unlimited deepcopy", lambda: copy.deepcopy(nested))
attempt("unlimited getattr", lambda: Node().missing)
attempt("unlimited repr", lambda: repr(Node()))
attempt("unlimited map", lambda: functools.reduce(lambda f, _: lambda: f(), range(10**5), lambda: 1)())
del nested
class Chain:
    def __init__(self, next): self.next = next
    def __del__(self): pass
chain = None
for _ in range(100000):
    chain = Chain(chain)
del chain
print("end")
