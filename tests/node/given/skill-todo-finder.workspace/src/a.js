let x; // TODO(ada): rename
// fixme handle null
const y = "no TODO here";
