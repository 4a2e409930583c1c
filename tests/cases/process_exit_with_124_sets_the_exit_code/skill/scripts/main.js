process.exit(124);
