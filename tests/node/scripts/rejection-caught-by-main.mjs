// The usual main().catch.
async function main() {
  const args = process.argv.slice(2);
  if (args.length === 0) throw new Error('usage: main <file>');
}
main().catch((error) => {
  console.error(`Error: ${error.message}`);
  process.exit(2);
});
