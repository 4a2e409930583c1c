// Parse .env files, expand variables, show which keys are missing against an example file.
const fs = require('fs');

function parseEnv(text) {
  const result = {};
  const pattern =
    /^\s*(?:export\s+)?([\w.-]+)[ \t]*=[ \t]*("(?:\\.|[^"\\])*"|'[^']*'|`[^`]*`|[^#\r\n]*)?\s*(?:#.*)?$/gm;
  for (const [, key, raw = ''] of text.matchAll(pattern)) {
    let value = raw.trim();
    const quote = value[0];
    if (quote === '"' || quote === "'" || quote === '`') {
      value = value.slice(1, -1);
      if (quote === '"') value = value.replace(/\\n/g, '\n').replace(/\\(.)/g, '$1');
    }
    result[key] =
      quote === "'"
        ? value
        : value.replace(
            /\$\{?(\w+)(?::-([^}]*))?\}?/g,
            (_, name, fallback = '') => result[name] ?? process.env[name] ?? fallback,
          );
  }
  return result;
}

const [file = '.env', example = '.env.example'] = process.argv.slice(2);
let env;
try {
  env = parseEnv(fs.readFileSync(file, 'utf8'));
} catch (e) {
  if (e.code === 'ENOENT') {
    console.error(`No ${file} here`);
    process.exit(66);
  }
  throw e;
}
for (const [key, value] of Object.entries(env))
  console.log(`${key}=${JSON.stringify(/SECRET|KEY|TOKEN/.test(key) ? value.replace(/.(?=.{4})/g, '*') : value)}`);
const wanted = Object.keys(parseEnv(fs.readFileSync(example, 'utf8')));
const missing = wanted.filter((key) => !(key in env));
const extra = Object.keys(env).filter((key) => !wanted.includes(key));
console.log({ missing, extra });
process.exit(missing.length > 0 ? 1 : 0);
