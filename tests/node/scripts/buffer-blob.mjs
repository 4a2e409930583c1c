// Blob and File, atob and btoa.
import { Blob as Same, File, atob as atobAgain, transcode } from 'buffer';

const blob = new Blob(['héllo ', new Uint8Array([119, 111]), new Blob(['rld'])], { type: 'Text/Plain' });
console.log(Same === Blob, blob.size, blob.type, await blob.text(), blob);
console.log(
  await blob.slice(0, 5).text(),
  blob.slice(2, -2, 'x/y').type,
  (await blob.arrayBuffer()).byteLength,
  await blob.bytes(),
);
const pieces = [];
for await (const piece of blob.stream()) pieces.push(Buffer.from(piece).toString());
console.log(pieces.join(''));
const file = new File(['content'], 'name.txt', { type: 'text/plain', lastModified: 5 });
console.log(
  file.name,
  file.size,
  file.lastModified,
  file instanceof Blob,
  await file.text(),
  Object.prototype.toString.call(file),
);
try {
  new Blob('text');
} catch (error) {
  console.log(error.name, error.code, error.message);
}
console.log((await new Blob().text()) === '', new Blob([1, null, {}]).size);

console.log(
  btoa('hello'),
  atob('aGVsbG8='),
  atob('aGVs bG8'),
  JSON.stringify(btoa('')),
  btoa('\xff'),
  atob === atobAgain,
);
for (const action of [() => btoa('€'), () => atob('a'), () => atob('*'), () => atob(), () => btoa()]) {
  try {
    console.log(action());
  } catch (error) {
    console.log(error.name, error.code, error.message, error instanceof DOMException);
  }
}
console.log(transcode(Buffer.from('€'), 'utf8', 'utf16le'));
