// Moving the cursor of a terminal: the escapes are written to whatever stream is given.

import { invalidArgType, invalidArgValue, nodeError } from '../../internal/errors.js';
import { validateFunction } from '../../internal/validators.js';
import { nextTick } from '../../internal/task.js';

const CSI = '\u001b[';

function put(stream, text, callback) {
  if (callback !== undefined) validateFunction(callback, 'callback');
  if (stream == null || text === '') {
    if (typeof callback === 'function') nextTick(callback, null);
    return true;
  }
  return stream.write(text, callback);
}

export function cursorTo(stream, x, y, callback) {
  if (typeof y === 'function') [y, callback] = [undefined, y];
  if (callback !== undefined) validateFunction(callback, 'callback');
  if (Number.isNaN(x)) throw invalidArgValue('x', x);
  if (Number.isNaN(y)) throw invalidArgValue('y', y);
  if (stream == null || (typeof x !== 'number' && typeof y !== 'number')) return put(null, '', callback);
  if (typeof x !== 'number') throw nodeError(TypeError, 'ERR_INVALID_CURSOR_POS', 'Cannot set cursor row without setting its column');
  return put(stream, typeof y !== 'number' ? `${CSI}${x + 1}G` : `${CSI}${y + 1};${x + 1}H`, callback);
}

export function moveCursor(stream, dx, dy, callback) {
  let text = '';
  if (dx < 0) text += `${CSI}${-dx}D`;
  else if (dx > 0) text += `${CSI}${dx}C`;
  if (dy < 0) text += `${CSI}${-dy}A`;
  else if (dy > 0) text += `${CSI}${dy}B`;
  return put(stream, text, callback);
}

export function clearLine(stream, dir, callback) {
  return put(stream, dir < 0 ? `${CSI}1K` : dir > 0 ? `${CSI}0K` : `${CSI}2K`, callback);
}

export function clearScreenDown(stream, callback) {
  return put(stream, `${CSI}0J`, callback);
}

/** The same movements, collected and written together. */
export class Readline {
  #stream;
  #autoCommit;
  #todo = [];

  constructor(stream, options = undefined) {
    if (typeof stream?.write !== 'function') throw invalidArgType('stream', 'Writable', stream);
    this.#stream = stream;
    this.#autoCommit = Boolean(options?.autoCommit);
  }

  #add(text) {
    if (text === '') return this;
    if (this.#autoCommit) nextTick(() => this.#stream.write(text));
    else this.#todo.push(text);
    return this;
  }

  cursorTo(x, y = undefined) {
    return this.#add(y === undefined ? `${CSI}${x + 1}G` : `${CSI}${y + 1};${x + 1}H`);
  }

  moveCursor(dx, dy) {
    let text = '';
    moveCursor({ write: (escapes) => (text = escapes) }, dx, dy);
    return this.#add(text);
  }

  clearLine(dir) {
    return this.#add(dir < 0 ? `${CSI}1K` : dir > 0 ? `${CSI}0K` : `${CSI}2K`);
  }

  clearScreenDown() {
    return this.#add(`${CSI}0J`);
  }

  commit() {
    return new Promise((resolve) => {
      this.#stream.write(this.#todo.join(''), () => resolve());
      this.#todo = [];
    });
  }

  rollback() {
    this.#todo = [];
    return this;
  }
}
