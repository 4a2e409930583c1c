// Versions by the rules of semantic versioning: reading them, and which one is newer.

export type Version = Readonly<{
  text: string;
  numbers: readonly [number, number, number];
  labels: readonly string[];
}>;

const VERSION = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?$/;

/** The version that a text is, if it is one. */
export function parseVersion(text: string): Version | undefined {
  const found = VERSION.exec(text);
  if (!found) return undefined;
  const [, major, minor, patch, labels] = found;
  return {
    text,
    numbers: [Number(major), Number(minor), Number(patch)],
    labels: labels?.split('.') ?? [],
  };
}

/** Negative if `a` is older than `b`. */
export function compareVersions(a: Version, b: Version): number {
  for (const [at, number] of a.numbers.entries()) {
    const difference = number - b.numbers[at]!;
    if (difference !== 0) return difference;
  }
  // A version with labels comes before the one it leads to.
  if (a.labels.length === 0 || b.labels.length === 0) return b.labels.length - a.labels.length;
  for (const [at, label] of a.labels.entries()) {
    const other = b.labels[at];
    if (other === undefined) return 1;
    const difference = compareLabels(label, other);
    if (difference !== 0) return difference;
  }
  return a.labels.length - b.labels.length;
}

function compareLabels(a: string, b: string): number {
  const [x, y] = [a, b].map((label) => (/^\d+$/.test(label) ? Number(label) : undefined));
  if (x !== undefined && y !== undefined) return x - y;
  // Numbers come before words.
  if (x !== undefined) return -1;
  if (y !== undefined) return 1;
  return a < b ? -1 : a > b ? 1 : 0;
}
