"""Never ends and never waits."""

n = 0
while True:
    n += 1
