// node:stream/consumers: all of a stream at once.

import { Buffer } from '../buffer/buffer.js';
import { Blob } from '../../globals/blob.js';
import { TextDecoder } from '../../globals/encoding.js';

async function blob(stream) {
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  return new Blob(chunks);
}

async function arrayBuffer(stream) {
  return (await blob(stream)).arrayBuffer();
}

async function bytes(stream) {
  return (await blob(stream)).bytes();
}

async function buffer(stream) {
  return Buffer.from(await arrayBuffer(stream));
}

async function text(stream) {
  const decoder = new TextDecoder();
  let result = '';
  for await (const chunk of stream) result += typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true });
  return result + decoder.decode();
}

async function json(stream) {
  return JSON.parse(await text(stream));
}

export default { arrayBuffer, blob, buffer, bytes, text, json };
