"""Turns stacks of pancakes until the smallest is on top: small lists, slices and counting."""

from itertools import permutations


def turns(stack):
    count = 0
    top = stack[0]
    while top:
        stack[: top + 1] = stack[top::-1]
        count += 1
        top = stack[0]
    return count


most = 0
check = 0
for number, stack in enumerate(permutations(range(8))):
    count = turns(list(stack))
    if count > most:
        most = count
    check += -count if number % 2 else count
for number, stack in enumerate(permutations(range(8))):
    check += turns([7 - cake for cake in stack]) * (number % 3)
print(most, check)
