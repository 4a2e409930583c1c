async function attempt(what, act) {
  try {
    const value = await act();
    console.log(`${what}: ${JSON.stringify(value)}`);
  } catch (error) {
    console.log(`${what}: ${error.name} ${error.code ?? error.message}`);
  }
}

(async () => {
  for (const name of process.argv.slice(2)) {
    await attempt(`require ${name}`, () => require(name));
    await attempt(`resolve ${name}`, () => require.resolve(name));
    await attempt(`import ${name}`, async () => (await import(name)).default);
  }
  await attempt('paths', () => require.resolve.paths('x').filter((path) => !path.startsWith(__dirname.slice(0, 6))));
})();
