// Rejected with nothing.
new Promise((resolve, reject) => reject());
