#!/usr/bin/env node
// Build or verify a manifest of SHA-256 hashes for a folder.
const crypto = require('crypto');
const fs = require('fs');
const path = require('path');
const { pipeline } = require('stream');
const { promisify } = require('util');

const hashFile = async (file) => {
  const hash = crypto.createHash('sha256');
  await promisify(pipeline)(fs.createReadStream(file), hash);
  return hash.digest('hex');
};

async function collect(dir, base = dir) {
  let files = {};
  for (const name of (await fs.promises.readdir(dir)).sort()) {
    const full = path.join(dir, name);
    const stat = await fs.promises.lstat(full);
    if (stat.isDirectory()) files = { ...files, ...(await collect(full, base)) };
    else if (stat.isFile() && name !== 'MANIFEST.json')
      files[path.relative(base, full)] = { sha256: await hashFile(full), size: stat.size };
  }
  return files;
}

(async function () {
  const dir = process.argv[2];
  const manifest = path.join(dir, 'MANIFEST.json');
  const before = await collect(dir);
  fs.writeFileSync(manifest, JSON.stringify({ files: before }, null, 2));
  console.log(fs.readFileSync(manifest, 'utf8'));

  fs.appendFileSync(path.join(dir, 'one.txt'), 'tampered');
  fs.unlinkSync(path.join(dir, 'sub', 'two.bin'));
  fs.writeFileSync(path.join(dir, 'new.txt'), '');
  const { files } = JSON.parse(fs.readFileSync(manifest));
  const now = await collect(dir);
  const all = new Set([...Object.keys(files), ...Object.keys(now)]);
  for (const file of [...all].sort()) {
    const state = !now[file]
      ? 'missing'
      : !files[file]
        ? 'new'
        : now[file].sha256 === files[file].sha256
          ? 'ok'
          : 'changed';
    console.log(state.padEnd(8), file);
  }
  const total = crypto.createHash('md5');
  for (const file of Object.keys(now)) total.update(now[file].sha256);
  console.log('digest', total.digest('base64'));
})().catch((err) => {
  console.error(err);
  process.exit(1);
});
