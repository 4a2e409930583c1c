name = input("name? ")
age = int(input())
print(f"hello {name}, {age}")
try:
    input("more? ")
except EOFError as error:
    print("EOFError:", error)
