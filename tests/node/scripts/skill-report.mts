// Groups sales by region and month and prints tables in Markdown: generics, overloads, iterators.
import { createInterface } from 'node:readline';

interface Sale {
  region: string;
  month: number;
  amount: number;
}
type Aggregate<K extends PropertyKey> = Record<K, { total: number; count: number }>;
const enum Column {
  Region,
  Month,
  Amount,
}

class Table<Row extends object> implements Iterable<string> {
  private readonly columns: (keyof Row & string)[];
  constructor(
    private rows: Row[],
    columns?: (keyof Row & string)[],
    private align: Partial<Record<keyof Row, 'left' | 'right'>> = {},
  ) {
    this.columns = columns ?? (Object.keys(rows[0] ?? {}) as (keyof Row & string)[]);
  }
  *[Symbol.iterator](): IterableIterator<string> {
    const width = (column: keyof Row & string) =>
      Math.max(column.length, ...this.rows.map((row) => String(row[column]).length));
    const line = (cell: (column: keyof Row & string) => string) => `| ${this.columns.map(cell).join(' | ')} |`;
    yield line((column) => column.padEnd(width(column)));
    yield line((column) =>
      this.align[column] === 'right' ? `${'-'.repeat(width(column) - 1)}:` : '-'.repeat(width(column)),
    );
    for (const row of this.rows)
      yield line((column) =>
        this.align[column] === 'right'
          ? String(row[column]).padStart(width(column))
          : String(row[column]).padEnd(width(column)),
      );
  }
}

function aggregate<T, K extends string>(
  items: Iterable<T>,
  key: (item: T) => K,
  value: (item: T) => number,
): Aggregate<K> {
  const result = {} as Aggregate<K>;
  for (const item of items) {
    const entry = (result[key(item)] ??= { total: 0, count: 0 });
    entry.total += value(item);
    entry.count++;
  }
  return result;
}

async function* read(): AsyncGenerator<Sale, void, undefined> {
  let number = 0;
  for await (const line of createInterface({ input: process.stdin })) {
    number++;
    const cells = line.split(';');
    if (number === 1 || cells.length !== 3) continue;
    yield {
      region: cells[Column.Region]!,
      month: Number.parseInt(cells[Column.Month]!, 10),
      amount: Number(cells[Column.Amount]),
    };
  }
}

const sales: Sale[] = [];
for await (const sale of read()) sales.push(sale);
const money = new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD' });
const byRegion = Object.entries(
  aggregate(
    sales,
    ({ region }) => region,
    ({ amount }) => amount,
  ),
).map(([region, { total, count }]) => ({ region, total: money.format(total), count }));
for (const line of new Table(byRegion, undefined, { total: 'right', count: 'right' })) console.log(line);
const byQuarter = aggregate(
  sales,
  ({ month }) => `Q${Math.ceil(month / 3)}` as const,
  ({ amount }) => amount,
);
console.log(byQuarter satisfies Aggregate<`Q${number}`>);
console.log([...new Table<Sale>(sales.slice(0, 1))].length, sales.at(-1)?.region ?? 'none');
