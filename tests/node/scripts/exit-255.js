process.exit(255);
