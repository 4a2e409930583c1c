console.log('begins');
if (process.argv[2] === 'endless') {
  for (;;) {
    try {
      for (const kept = []; ; ) kept.push(new Array(1e5).fill(0));
    } catch {}
  }
} else {
  for (let kept = []; kept.length < 100; ) kept.push(new Array(1e3).fill(0));
}
console.log('ends');
