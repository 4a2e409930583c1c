export interface Entry {
  key: string;
  value: number;
}

export class Store<T extends Entry> {
  private entries: Map<string, T> = new Map();

  add(entry: T): this {
    if (this.entries.has(entry.key)) throw new Error(`twice: ${entry.key}`);
    this.entries.set(entry.key, entry);
    return this;
  }

  all(): T[] {
    return [...this.entries.values()];
  }

  get size(): number {
    return this.entries.size;
  }
}
