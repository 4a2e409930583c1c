def check(x):
    assert x > 1, f"{x} is too small"
check(0)
