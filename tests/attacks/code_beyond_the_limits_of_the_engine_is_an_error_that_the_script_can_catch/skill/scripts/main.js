const many = Number(process.argv[2]);

function attempt(what, act) {
  try {
    act();
    console.log(`${what}: done`);
  } catch (error) {
    console.log(`${what}: ${error instanceof Error ? 'an error' : error}`);
  }
}

attempt('powers', () => new Function(`return ${'1**'.repeat(many)}1`));
attempt('arguments', () => new Function(`return x(${'1,'.repeat(many)}1)`));
attempt('parameters', () => new Function(Array.from({ length: many }, (_, i) => `a${i}`).join(), ''));
attempt('locals', () => new Function(Array.from({ length: many }, (_, i) => `let a${i};`).join('')));
attempt('one more power in a file', () => {
  require('node:fs').writeFileSync('/tmp/powers.js', `module.exports = ${'1**'.repeat(many)}1`);
  require('/tmp/powers.js');
});
attempt('a string too long', () => [...Array(many / 5 | 0)].reduce((text) => text + text, 'x'));
console.log('goes on');
