// Standard input as a stream: events, encodings, end.
let data = '';
process.stdin.setEncoding('utf8');
process.stdin.on('data', (chunk) => {
  data += chunk;
});
process.stdin.on('end', () => {
  console.log(data.split('\n').length, data.length, JSON.stringify(data.slice(-8)));
  console.log(process.stdin.readableEnded, process.stdin.readableEncoding);
});
process.stdin.on('close', () => console.log('close'));
