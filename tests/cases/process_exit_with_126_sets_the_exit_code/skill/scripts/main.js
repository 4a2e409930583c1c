process.exit(126);
