// An error in TypeScript is reported where it was written.
interface Options {
  name: string;
  depth?: number;
}

enum Mode {
  Fast,
  Slow,
}

function run(options: Options, mode: Mode = Mode.Fast): never {
  throw new Error(`cannot run ${options.name} in mode ${Mode[mode]}`);
}

type Unused = {
  a: string;
};

run({ name: 'x' } as Options);
