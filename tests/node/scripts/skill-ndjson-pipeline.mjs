// Reads compressed NDJSON, filters and reshapes it in a pipeline, writes CSV.
import { createReadStream, createWriteStream, writeFileSync, readFileSync } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { Transform } from 'node:stream';
import { createGunzip, gzipSync } from 'node:zlib';

const events = Array.from({ length: 1000 }, (_, i) => ({
  id: i,
  type: ['view', 'click', 'error'][i % 3],
  value: (i * 7) % 13,
  user: `user "${i % 5}", ü`,
}));
writeFileSync('events.ndjson.gz', gzipSync(events.map((event) => JSON.stringify(event)).join('\n') + '\n{broken\n'));

let line = 0;
let broken = 0;
async function* parse(source) {
  let rest = '';
  source.setEncoding('utf8');
  for await (const chunk of source) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop();
    for (const text of lines) {
      line++;
      try {
        yield JSON.parse(text);
      } catch (error) {
        broken++;
        console.warn(`line ${line}: ${error.name}`);
      }
    }
  }
  if (rest) yield JSON.parse(rest);
}
const only = (predicate) =>
  new Transform({
    objectMode: true,
    transform(item, _, done) {
      done(null, predicate(item) ? item : undefined);
    },
  });
const quote = (value) => (/[",\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : String(value));
class ToCsv extends Transform {
  constructor(columns) {
    super({ writableObjectMode: true });
    this.columns = columns;
    this.rows = 0;
  }
  _construct(callback) {
    this.push(`${this.columns.join(',')}\n`);
    callback();
  }
  _transform(item, encoding, callback) {
    this.rows++;
    callback(null, `${this.columns.map((column) => quote(item[column] ?? '')).join(',')}\n`);
  }
}
const csv = new ToCsv(['id', 'value', 'user']);
await pipeline(
  createReadStream('events.ndjson.gz', { highWaterMark: 512 }),
  createGunzip(),
  parse,
  only(({ type }) => type === 'error'),
  csv,
  createWriteStream('errors.csv'),
);
const output = readFileSync('errors.csv', 'utf8').trimEnd().split('\n');
console.log({ line, broken, rows: csv.rows, written: output.length });
console.log(output.slice(0, 3).concat(output.at(-1)).join('\n'));
