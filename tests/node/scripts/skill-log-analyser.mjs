#!/usr/bin/env node
// Summarise an access log given as files or on standard input.
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';

const pattern =
  /^(?<ip>\S+) \S+ \S+ \[(?<time>[^\]]+)\] "(?<method>[A-Z]+) (?<path>\S+)[^"]*" (?<status>\d{3}) (?<size>\d+|-)(?: (?<ms>[\d.]+))?/;
const bump = (map, key, by = 1) => map.set(key, (map.get(key) ?? 0) + by);
const top = (map, n) => [...map].sort(([ka, a], [kb, b]) => b - a || (ka < kb ? -1 : 1)).slice(0, n);
const stats = {
  lines: 0,
  bad: [],
  paths: new Map(),
  statuses: new Map(),
  hours: new Map(),
  ips: new Set(),
  bytes: 0,
  times: [],
};

const sources = process.argv.length > 2 ? process.argv.slice(2).map((file) => createReadStream(file)) : [process.stdin];
for (const input of sources) {
  for await (const line of createInterface({ input, crlfDelay: Infinity })) {
    if (!line) continue;
    stats.lines++;
    const match = pattern.exec(line);
    if (!match) {
      stats.bad.push(line);
      continue;
    }
    const { ip, time, path, status, size, ms } = match.groups;
    stats.ips.add(ip);
    bump(stats.paths, path.split('?')[0]);
    bump(stats.statuses, `${status[0]}xx`);
    bump(stats.hours, time.match(/:(\d{2}):/)[1]);
    stats.bytes += size === '-' ? 0 : Number(size);
    if (ms) stats.times.push(parseFloat(ms));
  }
}
const percentile = (list, p) =>
  list.toSorted((a, b) => a - b)[Math.min(list.length - 1, Math.floor((p / 100) * list.length))];
console.log(
  `${stats.lines} lines, ${stats.bad.length} unreadable, ${stats.ips.size} addresses, ${stats.bytes.toLocaleString('en-US')} bytes`,
);
console.table(
  top(stats.paths, 3).map(([path, hits]) => ({ path, hits, share: `${((hits / stats.lines) * 100).toFixed(1)}%` })),
);
console.table(Object.fromEntries([...stats.statuses].sort()));
for (const [hour, hits] of [...stats.hours].sort()) console.log(`${hour}:00 ${'█'.repeat(hits)} ${hits}`);
console.log({ p50: percentile(stats.times, 50), p95: percentile(stats.times, 95), max: Math.max(...stats.times) });
if (stats.bad.length) console.error('unreadable:', stats.bad);
