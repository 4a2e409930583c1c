// TypeScript as CommonJS.
import fs = require('node:fs');
import path = require('path');
const os: typeof import('os') = require('os');
interface Result {
  file: string;
  size: number;
}
const measure = (file: string): Result => ({ file: path.basename(file), size: fs.statSync(file).size });
fs.writeFileSync('x.txt', 'four');
const result: Result = measure('x.txt');
console.log(
  result,
  os.EOL.length,
  typeof module,
  typeof require,
  __filename.endsWith('ts-commonjs.cts'),
  require.main === module,
);
export = { measure };
