console.log('begins');
if (process.argv[2] === 'endless') {
  const again = () => {
    try {
      for (;;) {}
    } catch {
      again();
    } finally {
      again();
    }
  };
  process.on('exit', again);
  process.on('uncaughtException', again);
  process.on('SIGTERM', again);
  again();
} else {
  try {
    throw new Error('caught');
  } catch {}
}
console.log('ends');
