// Never ends, and never waits.
let count = 0;
while (true) {
  count = (count + 1) % 1000;
}
