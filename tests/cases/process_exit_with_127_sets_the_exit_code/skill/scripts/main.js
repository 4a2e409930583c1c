process.exit(127);
