const limit = process.argv[2] === 'endless' ? Infinity : 20;
let depth = 0;
const count = (again) => {
  if (++depth < limit) return again();
};
function attempt(what, act) {
  depth = 0;
  try {
    act();
    console.log(`${what}: done`);
  } catch (error) {
    console.log(`${what}: ${error?.name}: ${error?.message}`);
  }
}

attempt('a function', function f() { return count(f); });
attempt('a method', () => { const o = { f: () => count(o.f) }; o.f(); });
attempt('two functions', () => { const a = () => count(b); const b = () => count(a); a(); });
attempt('a constructor', () => { class C { constructor() { count(() => new C()); } } new C(); });
attempt('an extended class', () => { class A { constructor() { count(() => new B()); } } class B extends A {} new B(); });
attempt('a getter', () => { const o = { get a() { return count(() => this.a); } }; return o.a; });
attempt('a setter', () => { const o = { set a(v) { count(() => { this.a = v; }); } }; o.a = 1; });
attempt('a proxy', () => { const p = new Proxy({}, { get: (t, k, r) => count(() => r[k]) }); return p.a; });
attempt('a chain of proxies', () => { let p = {}; for (let i = 0; i < Math.min(limit, 1e5); i++) p = new Proxy(p, {}); return p.a; });
attempt('toString', () => { const o = { toString: () => count(() => `${o}`) ?? '' }; return `${o}`; });
attempt('valueOf', () => { const o = { valueOf: () => count(() => o + 1) ?? 1 }; return o + 1; });
attempt('an array in itself as text', () => { const a = []; let b = a; for (let i = 0; i < Math.min(limit, 1e5); i++) b = [b]; return String(b); });
attempt('sort', () => [2, 1].sort(function f() { count(() => [2, 1].sort(f)); return 0; }));
attempt('map', () => [1].map(function f() { return count(() => [1].map(f)); }));
attempt('replace', () => 'a'.replace(/a/, function f() { return count(() => 'a'.replace(/a/, f)); }));
attempt('bind', () => { let f = () => 1; for (let i = 0; i < Math.min(limit, 1e5); i++) f = Object.defineProperty(f.bind(null), 'name', { value: '' }); return f(); });
attempt('apply', () => (function f() { return count(() => f.apply(null, [])); })());
attempt('a generator', () => { function* g() { yield* count(() => g()) ?? []; } return [...g()]; });
attempt('a spread', () => { const o = { *[Symbol.iterator]() { yield [...(count(() => o) ?? [])]; } }; return [...o]; });
attempt('a tagged template', () => { const f = () => count(() => f``); f``; });
attempt('a reviver', () => JSON.parse('[1]', function f(k, v) { return count(() => JSON.parse('[1]', f)); }));
attempt('toJSON', () => { const o = { toJSON: () => count(() => JSON.stringify(o)) }; return JSON.stringify(o); });
attempt('eval', () => { globalThis.f = () => count(() => (0, eval)('f()')); globalThis.f(); });
attempt('Function', () => { globalThis.f = () => count(() => Function('return f()')()); globalThis.f(); });
attempt('require', () => { globalThis.f = () => count(() => { delete require.cache[require.resolve('./again.js')]; require('./again.js'); }); globalThis.f(); });
attempt('an emitter', () => { const e = new (require('node:events'))(); e.on('x', () => count(() => e.emit('x'))); e.emit('x'); });
attempt('inspect', () => { const o = { [Symbol.for('nodejs.util.inspect.custom')]: () => count(() => require('node:util').inspect(o)) ?? '' }; return require('node:util').inspect(o); });
attempt('caught again and again', () => { const f = () => { try { return count(f); } catch { return 0; } finally { if (depth < 1e4) depth++; } }; f(); });
attempt('Symbol.hasInstance', () => { const o = { [Symbol.hasInstance]: () => count(() => 1 instanceof o) ?? false }; return 1 instanceof o; });
attempt('structuredClone', () => { let o = {}; for (let i = 0; i < Math.min(limit, 1e5); i++) o = { o }; structuredClone(o); });
attempt('deep equality', () => { const make = () => { let o = {}; for (let i = 0; i < Math.min(limit, 1e5); i++) o = { o }; return o; }; require('node:assert').deepStrictEqual(make(), make()); });
console.log('goes on');
