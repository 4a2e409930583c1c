const x = 1;
const x = 2;
