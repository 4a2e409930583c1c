// Takes memory in large pieces until there is none, gives it back, and begins again.
let held = [];
while (true) {
  try {
    held.push(new Uint8Array(32 << 20));
  } catch {
    held = [];
  }
}
