import os
import random

print(type(os.environ).__module__, type(os.environ).__qualname__, os.environ["SKILL_NAME"])
os.environ["ADDED"] = "\udcff"
print(os.environb[b"ADDED"])
print(random.seed.__func__.__qualname__, random.seed.__self__ is random.random.__self__)
random.seed(1)
print(random.random())
