def inner(values):
    return values["a"] + values["b"]

def outer():
    return inner({"a": 1})

print("before")
outer()
