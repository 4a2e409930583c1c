const fs = require('fs');

function attempt(what, act) {
  try {
    console.log(`${what}:`, act());
  } catch (error) {
    console.log(`${what}: ${error.code}`);
  }
}

for (const path of process.argv.slice(2)) {
  attempt(`utimes ${path}`, () => fs.utimesSync(path, 1, 1));
  attempt(`changed ${path}`, () => fs.statSync(path).mtimeMs < 2000);
  attempt(`truncate ${path}`, () => fs.truncateSync(path, 0));
  attempt(`open ${path}`, () => fs.openSync(path, 'r+') > 0);
  attempt(`read ${path}`, () => fs.readFileSync(path, 'utf8'));
  attempt(`append ${path}`, () => fs.appendFileSync(path, 'x'));
  attempt(`copy ${path}`, () => fs.copyFileSync(path, 'copy'));
}

// These change names and nothing else.
for (const path of process.argv.slice(2)) {
  attempt(`rename ${path}`, () => fs.renameSync(path, `${path}2`));
  attempt(`remove ${path}2`, () => fs.unlinkSync(`${path}2`));
}
