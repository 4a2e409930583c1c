VALUE = 3
print("other", __name__)
