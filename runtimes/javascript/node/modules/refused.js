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

/** `net:HOST` or `net:HOST:PORT` with what the arguments of a request tell. */
export function netGrant(target) {
  let host;
  if (typeof target === 'string') host = /^[a-z+]+:\/\/(?:[^/?#@]*@)?([^/?#]+)/i.exec(target)?.[1];
  else if (target && typeof target === 'object') {
    host = target.hostname ?? target.host ?? target.origin;
    if (host && target.port) host = `${host}:${target.port}`;
  }
  return `net:${host || 'HOST'}`;
}

/** `run:PROGRAM` with the first word of a command. */
export function runGrant(command) {
  const word = typeof command === 'string' ? command.trim().split(/\s+/)[0] : '';
  return `run:${word.split('/').pop() || 'PROGRAM'}`;
}
