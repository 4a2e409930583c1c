// await outside of functions, with loops and failures.
console.log('before');
const value = await Promise.resolve(5);
console.log(value, await 6);
for await (const item of (async function* () {
  yield 1;
  yield 2;
})())
  console.log(item);
try {
  await Promise.reject(new Error('caught'));
} catch (error) {
  console.log(error.message);
}
const results = await Promise.all([1, Promise.resolve(2), new Promise((resolve) => setTimeout(resolve, 1, 3))]);
console.log(results, await Promise.allSettled([Promise.reject(1)]), await Promise.any([Promise.reject(1), 2]));
export const exported = await import('node:path').then((path) => path.sep);
console.log(exported, (await import('fs')).default === (await import('node:fs')).default);
if (await Promise.resolve(true)) console.log('in a condition');
const { promise, resolve } = Promise.withResolvers();
setImmediate(resolve, 'resolved later');
console.log(await promise, await (async () => 'inner')());
await using resource = {
  async [Symbol.asyncDispose]() {
    console.log('disposed');
  },
};
console.log('after');
