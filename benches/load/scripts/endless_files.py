"""Creates files without end."""

import os

number = 0
while True:
    number += 1
    try:
        with open(os.path.join(os.environ["TMPDIR"], str(number % 5000)), "w") as file:
            file.write("x")
    except OSError:
        pass
