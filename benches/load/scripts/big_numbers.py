"""Computes digits with long integers."""

from decimal import Decimal, getcontext


def arctan_inverse(x, unity):
    """arctan(1/x) times unity, as an integer."""
    total = term = unity // x
    square = x * x
    n = 3
    sign = -1
    while term:
        term //= square
        total += sign * (term // n)
        sign = -sign
        n += 2
    return total


unity = 10**4_210
pi = 4 * (4 * arctan_inverse(5, unity) - arctan_inverse(239, unity)) // 10**10
power = 3
for exponent in range(1_001, 1_041):
    power = pow(power, exponent, 10**2_000 + 7)
getcontext().prec = 600
root = sum((Decimal(n).sqrt() for n in range(2, 90)), Decimal(0))
print(str(pi)[4_180:4_200], power % 10**12, str(root)[-12:])
