process.exit(137);
