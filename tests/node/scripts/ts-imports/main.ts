// TypeScript files that import each other, with their extension, and JSON and JavaScript beside them.
import { Store, type Entry } from './lib/store.ts';
import helper, { twice } from './lib/helper.mts';
import plain from './lib/plain.js';
import settings from './lib/settings.json' with { type: 'json' };
import * as store from './lib/store.ts';

const box = new Store<Entry>();
box.add({ key: 'a', value: 1 }).add({ key: 'b', value: twice(2) });
console.log(box.all(), helper(box.size), plain, settings.name, Object.keys(store));
const later = await import('./lib/later.ts');
console.log(later.default satisfies string, import.meta.filename.endsWith('main.ts'));
try {
  box.add({ key: 'a', value: 2 });
} catch (error) {
  console.log((error as Error).message, (error as Error).stack!.match(/store\.ts:\d+/)![0]);
}
await import('./lib/absent.ts').catch((error: NodeJS.ErrnoException) => console.log(error.code));
