interface Long {
  a: string;
  b: number;
}

enum E { A, B }

function fails(long: Long): never {
  throw new Error(`${long.a} ${E[1]}`);
}

fails({ a: 'x', b: 1 });
