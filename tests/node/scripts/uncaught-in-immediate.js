// An error in an immediate; another immediate does not run.
setImmediate(() => console.log('first'));
setImmediate(function check() {
  throw Object.assign(new Error('in an immediate'), { attempts: 3 });
});
setImmediate(() => console.log('never'));
