enum Colour { Red = 1, Green }
namespace Shapes {
  export const sides = (n: number): string => `${n} sides`;
}
class Point {
  constructor(public readonly x: number, private y?: number) {}
  get sum(): number { return this.x + (this.y ?? 0); }
}
abstract class Base<T extends object> { abstract name(): string; declare kind: T; }
interface Named { name: string }
type Pair = [number, string];
const named = { name: 'n' } satisfies Named as Named;
const pair: Pair = [1, 'one']!;
function over(a: string): void;
function over(a: number): void;
function over(a: unknown) { console.log('over', a); }
over(pair[0]);
console.log(Colour.Green, Colour[1], Shapes.sides(3), new Point(1, 2).sum, named!.name, <string>pair[1], typeof Base);
