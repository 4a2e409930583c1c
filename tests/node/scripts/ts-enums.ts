// Enums: numbers, strings, computed, const, merged.
enum Level {
  Debug,
  Info = 5,
  Warn,
  Error = Info * 2,
  Mask = (1 << 3) | 1,
}
enum Colour {
  Red = 'red',
  Green = 'green',
}
enum Mixed {
  No = 0,
  Yes = 'yes',
  Length = 'abc'.length,
}
const enum Inline {
  A = 1,
  B = A + 1,
  C = 'c',
}
enum Level {
  Extra = 100,
}
declare enum Ambient {
  X,
}
console.log(Level, Level.Info, Level[6], Level['Error'], Level.Mask, Level.Extra);
console.log(Colour, Colour.Red, Object.values(Colour), Mixed);
console.log(Inline.A, Inline.B, Inline.C);
const by: Record<Level, string> = { ...Level } as any;
console.log(Object.keys(by).length, (Level as any)[99], Colour['Green' as keyof typeof Colour]);
function name(level: Level): string {
  switch (level) {
    case Level.Debug:
      return 'debug';
    case Level.Warn:
      return 'warn';
    default:
      return Level[level] ?? 'unknown';
  }
}
console.log(name(Level.Debug), name(Level.Warn), name(Level.Info), name(42 as Level));
export { Level, Colour };
