# HACK: works on my machine
print(1)
