// Readable, Writable, Transform, Duplex: the classes and their events.
const { Readable, Writable, Transform, Duplex, PassThrough } = require('stream');

class Counter extends Readable {
  constructor(limit) {
    super({ encoding: 'utf8' });
    this.limit = limit;
    this.count = 0;
  }
  _read() {
    this.push(this.count < this.limit ? `${++this.count},` : null);
  }
}
class Upper extends Transform {
  _transform(chunk, encoding, callback) {
    callback(null, chunk.toString().toUpperCase());
  }
  _flush(callback) {
    this.push('!');
    callback();
  }
}
const pieces = [];
const sink = new Writable({
  highWaterMark: 3,
  write(chunk, encoding, callback) {
    pieces.push([chunk.toString(), encoding]);
    setImmediate(callback);
  },
  final(callback) {
    pieces.push('final');
    callback();
  },
});
console.log(sink.write('ab'), sink.write('cd'), sink.writableLength, sink.writableNeedDrain);
sink.on('drain', () => console.log('drain'));
sink.on('pipe', () => console.log('pipe')).on('unpipe', () => console.log('unpipe'));
sink.on('finish', () => console.log('finish', pieces, sink.writableFinished));
sink.on('close', second);
sink.once('drain', () => new Counter(3).pipe(new Upper()).pipe(sink));

function second() {
  const source = new Readable({ read() {} });
  source.push('one');
  source.push('two');
  source.push(null);
  source.on('readable', () => {
    let c;
    while ((c = source.read(2)) !== null) console.log('read', c.toString());
  });
  source.on('end', () => {
    console.log('end', source.readableEnded);
    third();
  });
}
function third() {
  const objects = new PassThrough({ objectMode: true });
  objects.on('data', (value) => console.log('object', value));
  objects.write({ a: 1 });
  objects.write([2]);
  objects.end('last');
  objects.on('close', fourth);
}
function fourth() {
  const duplex = new Duplex({
    read() {
      this.push('from duplex');
      this.push(null);
    },
    write(c, e, cb) {
      console.log('to duplex', String(c));
      cb();
    },
  });
  duplex.on('data', (c) => console.log(String(c))).on('close', fifth);
  duplex.end('data');
}
function fifth() {
  const broken = new Readable({
    read() {
      this.destroy(new Error('broken'));
    },
  });
  broken
    .on('error', (error) => console.log('error', error.message))
    .on('close', () => console.log('close', broken.destroyed));
  broken.resume();
  const ended = new Writable({
    write(c, e, cb) {
      cb();
    },
  });
  ended.on('error', (error) => console.log(error.code, error.message));
  ended.end();
  ended.write('late');
  const abstract = new Readable();
  abstract.on('error', (error) => console.log(error.code, error.message)).read();
}
