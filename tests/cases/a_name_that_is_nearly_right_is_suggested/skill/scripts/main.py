value = 1
print(valu)
