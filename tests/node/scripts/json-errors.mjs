// What JSON.parse says of what it cannot read: the engine's words.
for (const text of [
  '',
  '{',
  '{"a":}',
  '[1,]',
  '{"a":1,}',
  "{'a':1}",
  'undefined',
  '{"a":1}}',
  '"unclosed',
  '01',
  '{"a" 1}',
  '\u00a0',
  'nul',
  '["\n"]',
]) {
  try {
    console.log(JSON.parse(text));
  } catch (error) {
    console.log(JSON.stringify(text), error.name, error.message);
  }
}
