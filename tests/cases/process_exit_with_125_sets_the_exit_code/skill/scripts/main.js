process.exit(125);
