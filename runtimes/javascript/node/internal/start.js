// What has to happen anew in each run: everything else is in the snapshot.

const functions = [];

/** Calls `f` at the beginning of the run. */
export function atStart(f) {
  functions.push(f);
}

export function start() {
  for (let i = 0; i < functions.length; i++) functions[i]();
}
