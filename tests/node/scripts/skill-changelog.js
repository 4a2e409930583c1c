#!/usr/bin/env node
// git log --pretty=format:"%h %s" | node changelog.js > CHANGELOG.md
const groups = { feat: 'Features', fix: 'Bug Fixes', perf: 'Performance', docs: 'Documentation' };
let input = '';
process.stdin.setEncoding('utf-8');
process.stdin.on('data', (chunk) => (input += chunk));
process.stdin.on('end', () => {
  const sections = {};
  const breaking = [];
  let skipped = 0;
  input
    .split(/\r?\n/)
    .filter(Boolean)
    .forEach((line) => {
      const m = line.match(/^([0-9a-f]{7,}) (\w+)(?:\(([^)]+)\))?(!)?: (.+)$/);
      if (!m) {
        skipped += 1;
        return;
      }
      const [, hash, type, scope, bang, subject] = m;
      if (bang) breaking.push({ subject, hash });
      (sections[groups[type] || 'Other'] ??= []).push(
        `- ${scope ? `**${scope}:** ` : ''}${subject} (${hash.slice(0, 7)})`,
      );
    });
  const order = [...Object.values(groups), 'Other'];
  console.log('# Changelog\n');
  if (breaking.length) {
    console.log('## ⚠ BREAKING CHANGES\n');
    for (const { subject } of breaking) console.log(`- ${subject}`);
    console.log();
  }
  order
    .filter((title) => sections[title])
    .forEach((title) => {
      console.log(`## ${title}\n`);
      console.log(sections[title].sort().join('\n') + '\n');
    });
  if (skipped) process.stderr.write(`${skipped} commit(s) without a conventional message\n`);
});
