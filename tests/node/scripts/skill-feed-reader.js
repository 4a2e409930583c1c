// Turns an RSS file into Markdown: entities, CDATA, dates.
const fs = require('fs');
const entities = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0' };
const decode = (text) =>
  text
    .replace(/<!\[CDATA\[([\s\S]*?)\]\]>/g, '$1')
    .replace(/&(?:#x([0-9a-f]+)|#(\d+)|(\w+));/gi, (whole, hex, dec, name) =>
      hex ? String.fromCodePoint(parseInt(hex, 16)) : dec ? String.fromCodePoint(+dec) : (entities[name] ?? whole),
    );
const tag = (xml, name) => {
  const m = xml.match(new RegExp(`<${name}(?:\\s[^>]*)?>([\\s\\S]*?)</${name}>`));
  return m ? decode(m[1].trim()) : '';
};
const strip = (html) =>
  html
    .replace(/<br\s*\/?>/gi, '\n')
    .replace(/<[^>]*>/g, '')
    .replace(/[ \t]+/g, ' ')
    .trim();

const xml = fs.readFileSync(process.argv[2] || '/dev/stdin', 'utf8');
const items = [...xml.matchAll(/<item>([\s\S]*?)<\/item>/g)].map(([, item]) => ({
  title: tag(item, 'title'),
  link: tag(item, 'link'),
  date: new Date(tag(item, 'pubDate')),
  text: strip(tag(item, 'description')),
  tags: [...item.matchAll(/<category>(.*?)<\/category>/g)].map((m) => decode(m[1])),
}));
console.log(`# ${tag(xml.replace(/<item>[\s\S]*<\/item>/, ''), 'title')}\n`);
items
  .sort((a, b) => b.date - a.date)
  .forEach(({ title, link, date, text, tags }) => {
    const day = isNaN(date)
      ? 'undated'
      : date.toLocaleDateString('en-US', { year: 'numeric', month: 'short', day: 'numeric', timeZone: 'UTC' });
    console.log(
      `## [${title}](${new URL(link, 'https://example.com/feed/').href})\n*${day}*${tags.length ? ` — ${tags.map((t) => `\`${t}\``).join(' ')}` : ''}\n\n${text.length > 40 ? `${text.slice(0, 40)}…` : text}\n`,
    );
  });
