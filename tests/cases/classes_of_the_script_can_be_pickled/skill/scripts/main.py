import pickle, copy
from dataclasses import dataclass, asdict, field
from enum import Enum

class Colour(Enum):
    RED = 1

@dataclass(order=True)
class Point:
    x: int
    y: int = 0
    tags: list = field(default_factory=list)

p = Point(1, 2, ["a"])
q = pickle.loads(pickle.dumps([p, Colour.RED]))
print(q, q[0] == p, q[1] is Colour.RED, copy.deepcopy(p), asdict(p))
print(Point.__module__, Point.__annotations__)
