// What exitCode takes, and what it refuses.
for (const value of [0, 1, 255, '5', undefined, null]) {
  process.exitCode = value;
  console.log(typeof value, process.exitCode);
}
for (const value of ['x', 1.5, {}, true, NaN, '', '1.5']) {
  try {
    process.exitCode = value;
    console.log('accepted', value, process.exitCode);
  } catch (error) {
    console.log(error.name, error.code, error.message);
  }
}
try {
  process.exit('seven');
} catch (error) {
  console.log(error.code, error.message);
}
process.exitCode = 255;
