// Types of all kinds are taken away; what runs stays as it was.
import { readFileSync, type Stats } from 'node:fs';
import type { Server } from 'node:http';

interface Item<T = string> {
  readonly id: number;
  name: T;
  tags?: string[];
  [key: string]: unknown;
}
type Kind = 'a' | 'b' | `c-${number}`;
type Mapped = { [K in keyof Item]?: Item[K] };
declare const absent: string;
declare function external(x: number): void;
declare global {
  interface Array<T> {
    ignored?: T;
  }
}

function first<T extends Item>(this: void, items: readonly T[], fallback?: T): T | undefined {
  return items[0] ?? fallback;
}
function overloaded(x: string): string;
function overloaded(x: number): number;
function overloaded(x: unknown): unknown {
  return x;
}
const items: Item[] = [
  { id: 1, name: 'one' },
  { id: 2, name: 'two', tags: ['x'] },
];
const kind = 'c-5' as Kind,
  sure = items[1]!.tags!.length,
  checked = { id: 3, name: 'three' } satisfies Item,
  constant = ['x', 1] as const;
const arrow = async <T>(value: T): Promise<T> => value;
let definite!: number;
definite = 4;
abstract class Shape {
  abstract area(): number;
  protected readonly sides: number = 0;
  private cache?: number;
  static count: number = 0;
  declare ghost: string;
  describe(): string {
    return `${this.constructor.name} ${this.area()}`;
  }
}
class Square extends Shape implements Iterable<number> {
  #size: number;
  constructor(size: number) {
    super();
    this.#size = size;
  }
  override area(): number {
    return this.#size ** 2;
  }
  *[Symbol.iterator](): Iterator<number> {
    yield this.#size;
  }
}
function isItem(value: any): value is Item {
  return typeof value?.id === 'number';
}
function assertItem(value: unknown): asserts value is Item {
  if (!isItem(value)) throw new TypeError('no item');
}
console.log(
  first<Item>(items),
  overloaded('x'),
  overloaded(5),
  kind,
  sure,
  checked,
  constant,
  definite,
  <string>'cast',
);
console.log(
  new Square(3).describe(),
  [...new Square(2)],
  'ghost' in new Square(1),
  Object.keys(new Square(1)),
  Shape.count,
);
console.log(
  await arrow<string>('value'),
  isItem({}),
  typeof readFileSync,
  new Map<string, Array<number>>([['k', [1]]]),
);
try {
  assertItem(null);
} catch (error: unknown) {
  console.log((error as Error).message);
}
label: for (const x of [1, 2] as number[]) {
  if (x < 2) continue label;
  console.log(x);
}
export type { Item, Server, Stats };
