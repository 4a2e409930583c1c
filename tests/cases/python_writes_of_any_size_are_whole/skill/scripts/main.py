import array, os

MIB = 1 << 20
data = b"abcdefg" * MIB
file = os.open("large", os.O_RDWR | os.O_CREAT)
print("pwrite:", os.pwrite(file, data, 3))
print("write:", os.write(file, memoryview(data)))
numbers = array.array("I", range(MIB))
print("pwrite of numbers:", os.pwrite(file, numbers, 8 * MIB))
os.close(file)
with open("large", "rb") as file:
    print("the same:", file.read(len(data)) == data, end=" ")
    file.seek(8 * MIB)
    print(file.read() == numbers.tobytes())
print("urandom:", len(os.urandom(50 * MIB)))
for wrong in ("text", 1):
    try:
        os.write(1, wrong)
    except TypeError as error:
        print(error)
try:
    os.write(99, data)
except OSError as error:
    print(error.strerror)
