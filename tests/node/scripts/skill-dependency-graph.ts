/** Reads the imports of the files under a directory and reports order, cycles and orphans. */
import * as fs from 'fs';
import * as path from 'path';

type Graph = Map<string, Set<string>>;
interface Options {
  root: string;
  extensions?: readonly string[];
}

abstract class Visitor<R> {
  protected readonly visited = new Set<string>();
  constructor(protected graph: Graph) {}
  abstract visit(node: string, trail?: string[]): void;
  abstract get result(): R;
}

class Cycles extends Visitor<string[][]> {
  private found: string[][] = [];
  visit(node: string, trail: string[] = []): void {
    const at = trail.indexOf(node);
    if (at >= 0) {
      this.found.push([...trail.slice(at), node]);
      return;
    }
    if (this.visited.has(node)) return;
    this.visited.add(node);
    for (const next of this.graph.get(node) ?? []) this.visit(next, [...trail, node]);
  }
  get result(): string[][] {
    return this.found;
  }
}

class Order extends Visitor<string[]> {
  #sorted: string[] = [];
  visit(node: string): void {
    if (this.visited.has(node)) return;
    this.visited.add(node);
    this.graph.get(node)?.forEach((next) => this.visit(next));
    this.#sorted.push(node);
  }
  get result() {
    return this.#sorted;
  }
}

function build({ root, extensions = ['.ts', '.js', '.mjs'] as const }: Options): Graph {
  const files = (fs.readdirSync(root, { recursive: true }) as string[])
    .filter((file) => extensions.includes(path.extname(file)))
    .sort();
  const graph: Graph = new Map(files.map((file) => [file, new Set<string>()]));
  for (const file of files) {
    const source = fs.readFileSync(path.join(root, file), 'utf8');
    for (const [, name] of source.matchAll(
      /(?:import|export)[^'"]*?from\s*['"]([^'"]+)['"]|require\(['"]([^'"]+)['"]\)/g,
    ) as Iterable<[string, string?, string?]> as any) {
      if (!name?.startsWith('.')) continue;
      const target = path.normalize(path.join(path.dirname(file), name));
      const hit = [
        target,
        ...extensions.map((extension) => target + extension),
        ...extensions.map((extension) => path.join(target, `index${extension}`)),
      ].find((candidate) => graph.has(candidate));
      if (hit) graph.get(file)!.add(hit);
      else console.warn(`${file}: cannot resolve ${name}`);
    }
  }
  return graph;
}

const run = <R>(make: new (graph: Graph) => Visitor<R>, graph: Graph): R => {
  const visitor = new make(graph);
  for (const node of graph.keys()) visitor.visit(node);
  return visitor.result;
};

const graph = build({ root: process.argv[2] ?? '.' });
console.log(graph);
console.log('order:', run(Order, graph).join(' < '));
for (const cycle of run(Cycles, graph)) console.log('cycle:', cycle.join(' → '));
const used = new Set([...graph.values()].flatMap((targets) => [...targets]));
console.log(
  'orphans:',
  [...graph.keys()].filter((file) => !used.has(file)),
);
process.exit(run(Cycles, graph).length ? 1 : 0);
