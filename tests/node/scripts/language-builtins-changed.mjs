// Objects that exist before the script, and that it changes.
import fs from 'node:fs';
import { once } from 'node:events';

// Properties are added, replaced and removed, also more than an object had room for.
for (let i = 0; i < 300; i++) globalThis[`own${i}`] = { i };
for (let i = 0; i < 300; i += 2) delete globalThis[`own${i}`];
console.log(Object.keys(globalThis).filter((name) => name.startsWith('own')).length, globalThis.own299.i);
Array.prototype.last = function last() {
  return this[this.length - 1];
};
console.log([1, 2, 3].last(), delete Array.prototype.last, [].last);
const { trim } = String.prototype;
String.prototype.trim = () => 'replaced';
console.log(' a '.trim(), (String.prototype.trim = trim) && ' a '.trim());
delete Math.hypot;
console.log(typeof Math.hypot, typeof Math.max, 'hypot' in Math);
Object.defineProperty(Number, 'own', { get: () => 7, configurable: true });
console.log(Number.own, Object.freeze(JSON) === JSON, Object.isFrozen(JSON));
Object.setPrototypeOf(Reflect, { inherited: 1 });
console.log(Reflect.inherited, Object.getPrototypeOf(Reflect));

// Strings and symbols of the interpreter are shared, and stay what they are.
let text = 'prototype';
for (let i = 0; i < 3; i++) text += 'constructor';
const joined = [Symbol.iterator.description, 'length'].join('');
console.log(text, joined, 'prototype', Symbol.keyFor(Symbol.for('length')), 'length'.concat('length'));

// Classes, listeners and functions of the library keep working after it.
process.once('own', (value) => console.log('own', value));
const waiting = once(process, 'own');
process.emit('own', 1);
console.log(await waiting, process.listenerCount('own'), fs.existsSync('/nowhere'));
class Own extends Map {
  get(key) {
    return super.get(key) ?? 'none';
  }
}
console.log(new Own([[1, 2]]).get(3), structuredClone(new Map([[1, { a: [1n] }]])));
