// Lets the engine compile the Node layer and evaluate it, once, and writes down its memory.
// usage: node snapshot.mjs ENGINE BUNDLE MEMORY
//
// What the engine sees of the world meanwhile is the same on every machine: the bundle on its standard
// input, a clock that stands still, no randomness, no environment, no directories. So the
// memory is the same, too.

import fs from 'node:fs';

const [engine, bundle, memory] = process.argv.slice(2);
const [SUCCESS, BADF, NOSYS] = [0, 8, 52];
const MOMENT = 1_000_000_000n; // nanoseconds

const input = fs.readFileSync(bundle);
let position = 0;
let exports;

const view = () => new DataView(exports.memory.buffer);
const bytes = (start, length) => new Uint8Array(exports.memory.buffer, start, length);

function* buffers(list, count) {
  for (let i = 0; i < count; i++) {
    yield bytes(view().getUint32(list + 8 * i, true), view().getUint32(list + 8 * i + 4, true));
  }
}

const zero = (...pointers) => {
  for (const pointer of pointers) view().setUint32(pointer, 0, true);
  return SUCCESS;
};

const wasi = {
  args_sizes_get: zero,
  environ_sizes_get: zero,
  args_get: () => SUCCESS,
  environ_get: () => SUCCESS,
  clock_time_get(_clock, _precision, result) {
    view().setBigUint64(result, MOMENT, true);
    return SUCCESS;
  },
  random_get(start, length) {
    bytes(start, length).fill(0);
    return SUCCESS;
  },
  fd_prestat_get: () => BADF,
  fd_fdstat_get(fd, result) {
    if (fd > 2) return BADF;
    bytes(result, 24).fill(0);
    view().setUint8(result, 2); // a character device
    return SUCCESS;
  },
  fd_read(fd, list, count, result) {
    if (fd !== 0) return BADF;
    const start = position;
    for (const buffer of buffers(list, count)) {
      const part = input.subarray(position, position + buffer.length);
      buffer.set(part);
      position += part.length;
    }
    view().setUint32(result, position - start, true);
    return SUCCESS;
  },
  fd_write(fd, list, count, result) {
    if (fd !== 1 && fd !== 2) return BADF;
    let length = 0;
    for (const buffer of buffers(list, count)) length += fs.writeSync(2, buffer);
    view().setUint32(result, length, true);
    return SUCCESS;
  },
  proc_exit(code) {
    throw new Error(`the engine ended with ${code}`);
  },
};

const module = new WebAssembly.Module(fs.readFileSync(engine));
const imports = { $root: {}, wasi_snapshot_preview1: {} };
for (const { module: from, name } of WebAssembly.Module.imports(module)) {
  imports[from][name] = (from === 'wasi_snapshot_preview1' && wasi[name]) || (() => NOSYS);
}
const start = () => {
  ({ exports } = new WebAssembly.Instance(module, imports));
  exports._initialize();
};
start();
const text = exports.compile();
const layer = bytes(view().getUint32(text, true), view().getUint32(text + 4, true)).slice();
start();
const copy = exports.cabi_realloc(0, 0, 1, layer.length);
bytes(copy, layer.length).set(layer);
exports.prepare(copy, layer.length);
fs.writeFileSync(memory, bytes(0, exports.memory.buffer.byteLength));
