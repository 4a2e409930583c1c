"""Calls methods, makes objects, raises and catches, and walks generators."""

from dataclasses import dataclass, field


@dataclass(order=True)
class Node:
    key: int
    left: "Node | None" = field(default=None, compare=False)
    right: "Node | None" = field(default=None, compare=False)

    def insert(self, key):
        if key == self.key:
            raise KeyError(key)
        side = "left" if key < self.key else "right"
        child = getattr(self, side)
        if child is None:
            setattr(self, side, Node(key))
        else:
            child.insert(key)

    def walk(self):
        if self.left:
            yield from self.left.walk()
        yield self.key
        if self.right:
            yield from self.right.walk()


root = Node(500_000)
twice = 0
state = 7
for _ in range(22_000):
    state = state * 48271 % 2147483647
    try:
        root.insert(state % 60_000 + 470_000)
    except KeyError:
        twice += 1
total = sum(key * (place % 5) for place, key in enumerate(root.walk()))
print(twice, total)
