// Web streams: reading, writing, transforming, teeing, compressing.
import { ReadableStream as Same } from 'node:stream/web';
const numbers = () =>
  new ReadableStream({
    start(controller) {
      [1, 2, 3].forEach((n) => controller.enqueue(n));
      controller.close();
    },
  });
console.log(Same === ReadableStream, numbers());
for await (const n of numbers()) console.log(n);
const doubled = numbers().pipeThrough(
  new TransformStream({
    transform: (n, controller) => controller.enqueue(n * 2),
    flush: (controller) => controller.enqueue('end'),
  }),
);
console.log(await Array.fromAsync(doubled));
const [left, right] = numbers().tee();
console.log(await Array.fromAsync(left), (await right.getReader().read()).value);
const written = [];
const sink = new WritableStream({
  write: (chunk) => {
    written.push(chunk);
  },
  close: () => {
    written.push('closed');
  },
});
const writer = sink.getWriter();
await writer.write('a');
await writer.ready;
await writer.close();
console.log(written, sink.locked, writer.desiredSize);
const text = new Response(
  new Blob(['hello '.repeat(100)])
    .stream()
    .pipeThrough(new CompressionStream('gzip'))
    .pipeThrough(new DecompressionStream('gzip')),
);
console.log((await text.text()).length);
console.log(
  await Array.fromAsync(
    ReadableStream.from(['x', 'y']).pipeThrough(new TextEncoderStream()).pipeThrough(new TextDecoderStream()),
  ),
);
const failing = new ReadableStream({
  pull() {
    throw new Error('source broke');
  },
});
console.log(
  await failing
    .getReader()
    .read()
    .catch((error) => error.message),
);
const locked = numbers();
locked.getReader();
try {
  locked.getReader();
} catch (error) {
  console.log(error.name, error.code);
}
console.log(
  await numbers().cancel('why'),
  new CountQueuingStrategy({ highWaterMark: 3 }).size(),
  new ByteLengthQueuingStrategy({ highWaterMark: 3 }).size(new Uint8Array(5)),
);
