// CommonJS is sloppy unless it asks not to be: old habits still work.
undeclared = 5;
var hoisted = typeof later;
var later = function named() { return typeof named; };
console.log(undeclared, globalThis.undeclared, delete globalThis.undeclared, hoisted, later(), typeof block);
{ function block() { return 'block'; } }
console.log(block(), 010, '\101', (function (a) { arguments[0] = 9; return a; })(1), (function () { return typeof this; })(), typeof arguments, (function () { return this; }).call(5) instanceof Number);
with ({ x: 'from with' }) { console.log(x); }
var let_ = 1, yield_ = 2; var async = 3; var of = 4; var get = 5; var static = 6;
console.log(let_ + yield_ + async + of + get + static, (function () { 'use strict'; try { undeclared2 = 1; } catch (e) { return e.name; } })());
function Old(name) { if (!(this instanceof Old)) return new Old(name); this.name = name; }
Old.prototype = { constructor: Old, greet: function () { return 'I am ' + this.name; } };
function Sub() { Old.call(this, 'sub'); } Sub.prototype = Object.create(Old.prototype); Sub.prototype.constructor = Sub; Sub.static = 1;
console.log(Old('x').greet(), new Sub().greet(), new Sub() instanceof Old, new Sub(), Old('y'), Sub);
for (var i in { a: 1, b: 2 }) { var last = i; } for (var j in 'xy') last += j; for (var k in [7, 8]) last += k;
console.log(last, i, void 0 === undefined, typeof null, [] instanceof Object, (function f() {}).name, new Function().name, (() => {}).name, (function (a, b = 1, ...c) {}).length);
switch (3) { case 1: console.log('one'); default: console.log('default'); case 2: console.log('falls through'); break; case 4: console.log('never'); }
try { try { throw 1; } finally { console.log('finally'); } } catch { console.log('caught'); }
console.log((function () { try { return 'try'; } finally { console.log('before return'); } })(), (function () { for (;;) { try { break; } finally { return 'finally wins'; } } })());
var self = this, getter = { get x() { return 1; }, set x(v) {}, __proto__: { inherited: true } };
console.log(self === module.exports, getter.inherited, getter.__proto__.inherited, Object.keys(getter), getter.__defineGetter__ !== undefined, new Date().getYear() > 100, escape('é'), 'x'.big(), typeof require('util').inherits);
<!-- an HTML comment is a comment here
console.log(((a, b) => a + b).toString(), (function  spaced ( a ) { /* kept */ return a }).toString(), class  K { m ( ) { } }.toString());
