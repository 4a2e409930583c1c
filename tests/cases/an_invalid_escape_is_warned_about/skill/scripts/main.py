import re
print(re.findall("\d", "a1"))
