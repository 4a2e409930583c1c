import inspect

def double(x):
    # twice
    return x * 2

print(inspect.getsource(double), end="")
print(inspect.signature(double), inspect.getsourcefile(double))
