function attempt(what, act) {
  try {
    act();
    console.log(`${what}: done`);
  } catch (error) {
    console.log(`${what}: ${error?.name} ${error?.code ?? error?.message}`);
  }
}

const huge = Number(process.argv[2]);
attempt('repeat', () => 'x'.repeat(huge));
attempt('padStart', () => 'x'.padStart(huge, 'yz'));
attempt('Array', () => new Array(huge).fill(0));
attempt('Array length', () => { [].length = huge; });
attempt('Buffer.alloc', () => Buffer.alloc(huge));
attempt('Buffer.allocUnsafe', () => Buffer.allocUnsafe(huge));
attempt('Uint8Array', () => new Uint8Array(huge));
attempt('ArrayBuffer', () => new ArrayBuffer(huge));
attempt('a resizable ArrayBuffer', () => new ArrayBuffer(1, { maxByteLength: huge }));
attempt('a view beyond its buffer', () => new DataView(new ArrayBuffer(8), 0, huge));
attempt('Array.from', () => Array.from({ length: huge }));
attempt('apply', () => Math.max.apply(null, { length: huge }));
attempt('Reflect.apply', () => Reflect.apply(Math.max, null, { length: huge }));
attempt('toFixed', () => (1).toFixed(huge));
attempt('toString', () => (1).toString(huge));
attempt('randomBytes', () => require('node:crypto').randomBytes(huge));
attempt('a read', () => require('node:fs').readSync(0, Buffer.alloc(8), 0, huge));
attempt('a read at', () => require('node:fs').readSync(0, Buffer.alloc(8), huge, 8));
attempt('a buffer write', () => Buffer.alloc(8).writeUInt32LE(1, huge));
attempt('truncate', () => require('node:fs').writeFileSync('/tmp/x', '') ?? require('node:fs').truncateSync('/tmp/x', huge));
attempt('inflate', () => require('node:zlib').inflateSync(Buffer.alloc(8), { maxOutputLength: huge }));
attempt('setTimeout', () => clearTimeout(setTimeout(() => {}, huge)));
attempt('exit code', () => { process.exitCode = huge; });
process.exitCode = 0;
console.log('goes on');
