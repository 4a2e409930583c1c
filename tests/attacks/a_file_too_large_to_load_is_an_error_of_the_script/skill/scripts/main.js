for (const name of process.argv.slice(2)) {
  try {
    require(`/workspace/${name}`);
    console.log(name, 'loaded');
  } catch (error) {
    console.log(name, error instanceof Error ? 'an error' : error);
  }
}
console.log('goes on');
