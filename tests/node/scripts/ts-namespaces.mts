// Namespaces, nested and merged, and parameter properties.
namespace Geometry {
  export const unit = 'cm';
  const hidden = 2;
  export function double(x: number) {
    return x * hidden;
  }
  export namespace Inner {
    export const deep = double(21);
    export enum Kind {
      Round,
      Flat,
    }
  }
  export class Point {
    constructor(
      public readonly x: number,
      protected y = 0,
      private z?: string,
    ) {}
    sum() {
      return this.x + this.y;
    }
  }
  export type Alias = string;
}
namespace Geometry {
  export const more = `${Geometry.unit} again`;
}
function tool() {
  return 'called';
}
namespace tool {
  export const version = '1.0';
}
class Base {
  constructor(public name: string) {}
}
class Derived extends Base {
  constructor(
    name: string,
    readonly extra: number[] = [1],
  ) {
    super(name.toUpperCase());
  }
}
console.log(
  Geometry.unit,
  Geometry.double(4),
  Geometry.Inner.deep,
  Geometry.Inner.Kind.Flat,
  Geometry.more,
  'hidden' in Geometry,
);
console.log(
  new Geometry.Point(1, 2),
  new Geometry.Point(5).sum(),
  tool(),
  tool.version,
  new Derived('n'),
  Object.keys(new Derived('n')),
);
import Kind = Geometry.Inner.Kind;
console.log(Kind.Round, Kind[1]);
