process.exit(128);
