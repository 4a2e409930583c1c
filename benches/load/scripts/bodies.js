// Moves five bodies that attract each other: floating point in arrays.

// Mass, place and speed of a sun and four planets on round orbits, made up for this program.
function bodies() {
  const system = [[1000, 0, 0, 0, 0, 0, 0]];
  for (const [index, distance] of [10, 17, 29, 47].entries()) {
    const number = index + 1;
    const speed = Math.sqrt(1000 / distance);
    system.push([0.1 * number, distance, 0, 0, 0, speed, speed * 0.05 * number]);
  }
  return system;
}

function energy(system) {
  let total = 0;
  system.forEach(([m, x, y, z, u, v, w], i) => {
    total += 0.5 * m * (u * u + v * v + w * w);
    for (const [n, a, b, c] of system.slice(i + 1)) {
      total -= (m * n) / Math.sqrt((x - a) ** 2 + (y - b) ** 2 + (z - c) ** 2);
    }
  });
  return total;
}

function move(system, steps, dt) {
  const pairs = system.flatMap((p, i) => system.slice(i + 1).map((q) => [p, q]));
  for (let step = 0; step < steps; step++) {
    for (const [p, q] of pairs) {
      const dx = p[1] - q[1];
      const dy = p[2] - q[2];
      const dz = p[3] - q[3];
      const square = dx * dx + dy * dy + dz * dz;
      const pull = dt / (square * Math.sqrt(square));
      const toP = q[0] * pull;
      const toQ = p[0] * pull;
      p[4] -= dx * toP;
      p[5] -= dy * toP;
      p[6] -= dz * toP;
      q[4] += dx * toQ;
      q[5] += dy * toQ;
      q[6] += dz * toQ;
    }
    for (const body of system) {
      body[1] += dt * body[4];
      body[2] += dt * body[5];
      body[3] += dt * body[6];
    }
  }
}

const system = bodies();
const before = energy(system);
move(system, 30_000, 0.001);
console.log(before.toFixed(6), energy(system).toFixed(6));
