for (const value of [1.5, 'x', {}, true, NaN, Infinity, '7.5', [], Symbol('s'), 1n]) {
  try {
    process.exitCode = value;
    console.log(value, 'taken');
  } catch (error) {
    console.log(value, error.code);
  }
}
for (const value of ['9', null, undefined, -1, 256, 300]) {
  process.exitCode = value;
  console.log(value, process.exitCode);
}
