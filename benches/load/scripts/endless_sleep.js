// Waits for a time that never comes.
setInterval(() => {}, 60_000);
