// Rejected with something that is no error.
Promise.reject({ status: 500, body: 'text' });
