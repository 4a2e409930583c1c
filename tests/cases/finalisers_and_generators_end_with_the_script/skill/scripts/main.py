class Resource:
    def __init__(self, name): self.name = name
    def __enter__(self): return self
    def __exit__(self, *error): print("exit", self.name)
    def __del__(self): print("del", self.name)

def generate():
    try:
        yield 1
    finally:
        print("generator closed")

kept = Resource("kept")
generator = generate()
next(generator)
with Resource("with"):
    pass
cycle = [Resource("cycle")]
cycle.append(cycle)
print("end")
