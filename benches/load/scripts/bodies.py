"""Moves five bodies that attract each other: floating point and attributes in lists."""

from math import sqrt


def bodies():
    """Mass, position and velocity of a sun and four planets on round orbits, made up for this program."""
    system = [[1000.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]]
    for number, distance in enumerate((10.0, 17.0, 29.0, 47.0), start=1):
        speed = sqrt(1000.0 / distance)
        tilt = 0.05 * number
        system.append([0.1 * number, distance, 0.0, 0.0, 0.0, speed, speed * tilt])
    return system


def energy(system):
    total = 0.0
    for i, (m, x, y, z, u, v, w) in enumerate(system):
        total += 0.5 * m * (u * u + v * v + w * w)
        for n, a, b, c, *_ in system[i + 1 :]:
            total -= m * n / sqrt((x - a) ** 2 + (y - b) ** 2 + (z - c) ** 2)
    return total


def move(system, steps, dt):
    pairs = [(p, q) for i, p in enumerate(system) for q in system[i + 1 :]]
    for _ in range(steps):
        for p, q in pairs:
            dx = p[1] - q[1]
            dy = p[2] - q[2]
            dz = p[3] - q[3]
            square = dx * dx + dy * dy + dz * dz
            pull = dt / (square * sqrt(square))
            to_p = q[0] * pull
            to_q = p[0] * pull
            p[4] -= dx * to_p
            p[5] -= dy * to_p
            p[6] -= dz * to_p
            q[4] += dx * to_q
            q[5] += dy * to_q
            q[6] += dz * to_q
        for body in system:
            body[1] += dt * body[4]
            body[2] += dt * body[5]
            body[3] += dt * body[6]


system = bodies()
before = energy(system)
move(system, 30_000, 0.001)
print(f"{before:.6f} {energy(system):.6f}")
