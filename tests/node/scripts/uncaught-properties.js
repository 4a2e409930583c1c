// Properties and causes are printed with the error.
const cause = new TypeError('the cause');
cause.detail = { deep: [1, 2] };
const error = new Error('with more', { cause });
error.code = 'E_MORE';
error.status = 404;
throw error;
