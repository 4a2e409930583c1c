// pipeline, finished and the helpers, as promises.
import {
  Readable,
  Writable,
  Transform,
  PassThrough,
  pipeline as callbackPipeline,
  compose,
  addAbortSignal,
} from 'stream';
import { pipeline, finished } from 'stream/promises';
import { text, json, buffer, arrayBuffer } from 'stream/consumers';

const collect = () => {
  const parts = [];
  const sink = new Writable({
    write(c, e, cb) {
      parts.push(String(c));
      cb();
    },
  });
  return [sink, parts];
};
let [sink, parts] = collect();
await pipeline(
  Readable.from(['a', 'b', 'c']),
  new Transform({
    transform(c, e, cb) {
      cb(null, `<${c}>`);
    },
  }),
  sink,
);
console.log(parts);
[sink, parts] = collect();
await pipeline(
  async function* () {
    yield 'x';
    yield 'y';
  },
  async function* (source) {
    for await (const c of source) yield `${c}${c}`;
  },
  sink,
);
console.log(
  parts,
  await pipeline(Readable.from(['1', '2']), async (source) => {
    let sum = 0;
    for await (const c of source) sum += Number(c);
    return sum;
  }),
);
console.log(
  await pipeline(
    Readable.from(['a']),
    new Transform({
      transform(c, e, cb) {
        cb(new Error('inside'));
      },
    }),
    collect()[0],
  ).catch((error) => error.message),
);
const controller = new AbortController();
const endless = pipeline(new Readable({ read() {} }), collect()[0], { signal: controller.signal });
controller.abort();
console.log(await endless.catch((error) => [error.name, error.code, error.message]));
callbackPipeline(Readable.from([]), new PassThrough().resume(), (error) => console.log('callback', error));

const early = new Readable({ read() {} });
setImmediate(() => early.destroy());
console.log(await finished(early).catch((error) => [error.code, error.message]));
console.log(
  await text(Readable.from(['t', 'ext'])),
  await json(Readable.from(['{"a":', '1}'])),
  (await buffer(Readable.from([Buffer.from('b')]))).length,
  (await arrayBuffer(Readable.from(['ab']))).byteLength,
);

const numbers = () => Readable.from([1, 2, 3, 4, 5]);
console.log(
  await numbers()
    .map((n) => n * 2)
    .filter((n) => n > 4)
    .toArray(),
  await numbers().take(2).toArray(),
  await numbers().drop(3).toArray(),
);
console.log(
  await numbers().reduce((a, b) => a + b, 0),
  await numbers().some((n) => n > 4),
  await numbers().every((n) => n > 4),
  await numbers().find((n) => n > 2),
  await numbers()
    .flatMap((n) => [n, n])
    .take(4)
    .toArray(),
);
await numbers().forEach((n) => process.stdout.write(`${n} `));
console.log();
for await (const c of compose(Readable.from(['q']), async function* (s) {
  for await (const x of s) yield x.toUpperCase();
}))
  console.log(c);
const iterated = Readable.from(['1', '2', '3']);
for await (const c of iterated) {
  console.log(c);
  break;
}
console.log(
  iterated.destroyed,
  Readable.from('whole string').readableObjectMode,
  await Readable.from('whole').toArray(),
);
const reader = Readable.toWeb(Readable.from(['w'])).getReader();
console.log(await reader.read(), await reader.read());
