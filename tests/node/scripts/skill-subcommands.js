#!/usr/bin/env node
// A command with subcommands, help texts and exit codes, without dependencies: a list of notes in a JSON file.
const fs = require('fs');
const os = require('os');
const path = require('path');

const STORE = process.env.NOTES_FILE || path.join(os.homedir(), '.notes.json');
const load = () => {
  try {
    return JSON.parse(fs.readFileSync(STORE, 'utf8'));
  } catch (e) {
    if (e.code !== 'ENOENT') throw e;
    return [];
  }
};
const save = (notes) => {
  fs.mkdirSync(path.dirname(STORE), { recursive: true });
  fs.writeFileSync(STORE, JSON.stringify(notes));
};

class UsageError extends Error {}
const commands = {
  add: {
    usage: 'add <text...>',
    help: 'Add a note',
    run: (words) => {
      if (!words.length) throw new UsageError('nothing to add');
      const notes = load();
      notes.push({ id: notes.length + 1, text: words.join(' '), done: false });
      save(notes);
      return `added #${notes.length}`;
    },
  },
  done: {
    usage: 'done <id>',
    help: 'Mark a note as done',
    run: ([id]) => {
      const notes = load();
      const note = notes.find((n) => n.id === Number(id));
      if (!note) throw new Error(`no note #${id}`);
      note.done = true;
      save(notes);
      return `done: ${note.text}`;
    },
  },
  list: {
    usage: 'list [--all]',
    help: 'List notes',
    run: (words) =>
      load()
        .filter((n) => words.includes('--all') || !n.done)
        .map((n) => `${n.done ? '[x]' : '[ ]'} ${String(n.id).padStart(2)} ${n.text}`)
        .join('\n') || '(none)',
  },
};
const usage = () =>
  [
    'Usage: notes <command> [options]',
    '',
    'Commands:',
    ...Object.values(commands).map((c) => `  ${c.usage.padEnd(16)} ${c.help}`),
  ].join('\n');

function main(argv) {
  const [name, ...rest] = argv;
  if (!name || name === '--help' || name === '-h') {
    console.log(usage());
    return name ? 0 : 1;
  }
  const command = commands[name];
  try {
    if (!command) throw new UsageError(`unknown command '${name}'`);
    if (rest.includes('--help')) {
      console.log(`Usage: notes ${command.usage}\n\n${command.help}`);
      return 0;
    }
    console.log(command.run(rest));
    return 0;
  } catch (error) {
    console.error(`notes: ${error.message}`);
    if (error instanceof UsageError) {
      console.error(usage());
      return 2;
    }
    return 1;
  }
}
const codes = [
  ['list'],
  ['add', 'buy', 'milk'],
  ['add', 'ünïcode €'],
  ['done', '1'],
  ['list'],
  ['list', '--all'],
  ['done', '9'],
  ['add'],
  ['done', '--help'],
  ['dance'],
  ['-h'],
  [],
].map(main);
console.log(codes.join(' '), fs.readFileSync(STORE, 'utf8'));
process.exitCode = codes.at(-3);
