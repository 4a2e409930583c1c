const fs = require('node:fs');
const many = Number(process.argv[2]);
const sources = {
  parentheses: '('.repeat(many) + '1' + ')'.repeat(many),
  'open parentheses': '('.repeat(many),
  'open brackets': '['.repeat(many),
  'open braces': '{'.repeat(many),
  'open templates': '`${'.repeat(many),
  comparisons: 'a<'.repeat(many),
  generics: `type T = ${'A<'.repeat(many)}1${'>'.repeat(many)};`,
  'conditional types': `type T = ${'A extends B ? '.repeat(many)}1${': 2'.repeat(many)};`,
  arrays: `type T = A${'[]'.repeat(many)};`,
  functions: `type T = ${'() => '.repeat(many)}void;`,
  unions: `type T = ${'| 1 '.repeat(many)};`,
  keyof: `type T = ${'keyof '.repeat(many)}A;`,
  assertions: `const a = ${'<T>'.repeat(many)}1;`,
  'as as as': `const a = 1${' as T'.repeat(many)};`,
  'non-null': `const a = x${'!'.repeat(many)};`,
  ternaries: `const a = ${'1 ? '.repeat(many)}1${' : 1'.repeat(many)};`,
  decorators: `${'@d '.repeat(many)}class A {}`,
  namespaces: `namespace A${'.B'.repeat(many)} { export const x = 1; }`,
  'enum members': `enum E { ${Array.from({ length: many }, (_, i) => `A${i}`).join()} }`,
  'two million bytes of types': 'interface Abc { def: string; ghi: number }\n'.repeat(many * 2.5),
  garbage: Buffer.from(Array.from({ length: many }, (_, i) => (i * 7919) & 255)),
  'a garbled word': 'const a: \u0000 = 1;',
};
for (const [what, source] of Object.entries(sources)) {
  const file = `/tmp/${what.replaceAll(' ', '-')}.ts`;
  fs.writeFileSync(file, Buffer.concat([Buffer.from(source), Buffer.from('\nexports.x = 1;\n')]));
  try {
    require(file);
    console.log(`${what}: done`);
  } catch (error) {
    console.log(`${what}: ${error.name}`);
  }
  fs.rmSync(file);
}
console.log('goes on');
