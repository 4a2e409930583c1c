// Converts a simple YAML file (maps, lists, scalars, comments) to JSON.
const fs = require('fs');

function parse(text) {
  const lines = text
    .split('\n')
    .map((raw, number) => ({
      number: number + 1,
      indent: raw.search(/\S/),
      text: raw.replace(/(^|\s)#.*$/, '').trim(),
    }))
    .filter((line) => line.text && line.text !== '---');
  let at = 0;
  const scalar = (value) => {
    if (/^(["']).*\1$/.test(value)) return value.slice(1, -1);
    if (/^(true|yes)$/i.test(value)) return true;
    if (/^(false|no)$/i.test(value)) return false;
    if (/^(null|~)?$/.test(value)) return null;
    if (/^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(value)) return Number(value);
    if (/^0x[0-9a-f]+$/i.test(value)) return parseInt(value, 16);
    if (value.startsWith('[') && value.endsWith(']'))
      return value.slice(1, -1).split(/,\s*/).filter(Boolean).map(scalar);
    return value;
  };
  function block(indent) {
    const list = lines[at].text.startsWith('-');
    const result = list ? [] : {};
    while (at < lines.length && lines[at].indent === indent) {
      const line = lines[at];
      if (list) {
        if (!line.text.startsWith('-')) throw new SyntaxError(`line ${line.number}: expected a list item`);
        const rest = line.text.slice(1).trim();
        if (/^[\w-]+:(\s|$)/.test(rest)) {
          lines[at] = { ...line, indent: line.indent + 2, text: rest };
          result.push(block(line.indent + 2));
        } else {
          at++;
          result.push(rest ? scalar(rest) : block(lines[at].indent));
        }
      } else {
        const match = /^("[^"]+"|[^:]+):(?:\s+(.*))?$/.exec(line.text);
        if (!match)
          throw new SyntaxError(`line ${line.number}: expected "key: value", found ${JSON.stringify(line.text)}`);
        at++;
        const key = scalar(match[1]);
        const nested =
          match[2] === undefined &&
          at < lines.length &&
          (lines[at].indent > indent || (lines[at].indent === indent && lines[at].text.startsWith('- ')));
        result[key] = nested ? block(lines[at].indent) : scalar(match[2] ?? '');
      }
    }
    if (at < lines.length && lines[at].indent > indent)
      throw new SyntaxError(`line ${lines[at].number}: unexpected indentation`);
    return result;
  }
  return lines.length ? block(lines[0].indent) : null;
}

for (const file of process.argv.slice(2)) {
  try {
    console.log(JSON.stringify(parse(fs.readFileSync(file, 'utf8')), null, 2));
  } catch ({ name, message }) {
    console.error(`${file}: ${name}: ${message}`);
    process.exitCode = 1;
  }
}
