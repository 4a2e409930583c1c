// Modules that need what the sandbox does not give: every name is there, and every call says which grant is missing.

import { accessDenied, notImplemented } from '../internal/errors.js';

/** A function that always throws; `grant` may depend on what it was called with. */
export function refusedCall(module, name, grant) {
  return {
    [name](...args) {
      throw accessDenied(`${module}.${name}`, typeof grant === 'function' ? grant(...args) : grant);
    },
  }[name];
}

/** The same for a function that gives a promise. */
export function refusedPromise(module, name, grant) {
  return {
    async [name](...args) {
      throw accessDenied(`${module}.${name}`, typeof grant === 'function' ? grant(...args) : grant);
    },
  }[name];
}

/** A class that can be named, extended and tested for, but not made. */
export function refusedClass(module, name, grant, Base = Object) {
  const Class = {
    [name]: function (...args) {
      throw accessDenied(`new ${module}.${name}`, typeof grant === 'function' ? grant(...args) : grant);
    },
  }[name];
  if (Base !== Object) {
    Object.setPrototypeOf(Class.prototype, Base.prototype);
    Object.setPrototypeOf(Class, Base);
  }
  return Class;
}

/** A function that no grant brings. */
export function absentCall(module, name, reason) {
  return {
    [name]() {
      throw notImplemented(`${module}.${name}`, reason);
    },
  }[name];
}

export const calls = (make, module, names, detail) => Object.fromEntries(names.map((name) => [name, make(module, name, detail)]));

const PORTS = { __proto__: null, 'http:': 80, 'https:': 443, 'ws:': 80, 'wss:': 443 };

/** `net:HOST` or `net:HOST:PORT` with what the first argument of a request tells; `port` is the module's usual one. */
export function netGrant(target, port) {
  let host;
  if (typeof target === 'string') {
    const [, scheme, found] = /^([a-z+]+:)\/\/(?:[^/?#@]*@)?([^/?#]+)/i.exec(target) ?? [];
    host = found;
    port = PORTS[scheme?.toLowerCase()] ?? port;
  } else if (target && typeof target === 'object') {
    host = target.hostname ?? target.host ?? target.origin;
    port = target.port || (PORTS[target.protocol] ?? port);
  }
  if (!host) return 'net:HOST';
  return port && !/:\d+$/.test(host) ? `net:${host}:${port}` : `net:${host}`;
}

/** `run:PROGRAM` with the name of a program. */
export function programGrant(file) {
  const name = typeof file === 'string' ? file.split('/').pop() : '';
  return `run:${name || 'PROGRAM'}`;
}

/** The same for a line for a shell: its first word that is not an assignment. */
export function lineGrant(line) {
  const words = typeof line === 'string' ? line.trim().split(/\s+/) : [];
  return programGrant(words.find((word) => !/^[A-Za-z_]\w*=/.test(word)));
}
