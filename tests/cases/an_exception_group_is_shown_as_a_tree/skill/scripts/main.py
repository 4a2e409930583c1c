def check(n):
    if n % 2:
        raise ValueError(f"{n} is odd")

errors = []
for n in range(4):
    try:
        check(n)
    except ValueError as error:
        errors.append(error)
raise ExceptionGroup("some are odd", errors)
