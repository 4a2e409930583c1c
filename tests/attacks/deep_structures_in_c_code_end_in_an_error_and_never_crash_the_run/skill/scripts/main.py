import ast, copy, json, pickle, re, sys
depth = int(sys.argv[1])
sys.setrecursionlimit(10**6)

def attempt(what, do):
    try:
        do()
        print(f"{what}: done")
    except (RecursionError, MemoryError, ValueError, re.error, SyntaxError) as error:
        print(f"{what}: {type(error).__name__}")


def nested(kind, n):
    value = kind()
    for _ in range(n):
        value = [value] if kind is list else {"k": value}
    return value

attempt("json reading lists", lambda: json.loads("[" * depth + "]" * depth))
attempt("json reading objects", lambda: json.loads('{"k":' * depth + "1" + "}" * depth))
attempt("json writing", lambda: json.dumps(nested(list, depth)))
attempt("repr of a list", lambda: repr(nested(list, depth)))
attempt("repr of a dict", lambda: repr(nested(dict, depth)))
attempt("equality", lambda: nested(list, depth) == nested(list, depth))
attempt("pickle", lambda: pickle.loads(pickle.dumps(nested(list, depth))))
attempt("deepcopy", lambda: copy.deepcopy(nested(list, depth)))
attempt("compile of parentheses", lambda: compile("(" * depth + ")" * depth, "x", "eval"))
attempt("compile of a sum", lambda: compile("+".join(["x"] * depth), "x", "eval"))
attempt("compile of unary signs", lambda: compile("-" * depth + "1", "x", "eval"))
attempt("compile of attributes", lambda: compile("x" + ".a" * depth, "x", "eval"))
attempt("literal_eval", lambda: ast.literal_eval("[" * depth + "]" * depth))
attempt("regular expression groups", lambda: re.compile("(?:" * (depth // 10) + ")" * (depth // 10)))
attempt("regular expression matching", lambda: re.match(r"(?:(?:a|b)*?c)?" * 10 + "$", "ab" * depth))
attempt("freeing a list", lambda: nested(list, depth))
attempt("freeing a dict", lambda: nested(dict, depth))
def generators():
    made = iter(())
    for _ in range(depth):
        made = map(id, made)
    return list(made)
attempt("iterators", generators)
def chained():
    error = None
    for _ in range(depth // 10):
        new = ValueError()
        new.__context__ = error
        error = new
    import traceback
    return len(traceback.format_exception(error))
attempt("chained exceptions", chained)
def tuples():
    kinds = (int,)
    for _ in range(depth):
        kinds = (str, kinds)
    return isinstance(b"", kinds)
attempt("isinstance of nested tuples", tuples)
print("goes on")
