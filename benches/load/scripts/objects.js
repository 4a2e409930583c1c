// Makes many small objects and calls their methods.
class Shape {
  constructor(name) {
    this.name = name;
  }

  area() {
    return 0;
  }

  describe() {
    return `${this.name}:${this.area().toFixed(1)}`;
  }
}

class Square extends Shape {
  #side;

  constructor(side) {
    super('square');
    this.#side = side;
  }

  area() {
    return this.#side ** 2;
  }
}

class Circle extends Shape {
  constructor(radius) {
    super('circle');
    this.radius = radius;
  }

  area() {
    return Math.PI * this.radius ** 2;
  }
}

let length = 0;
let total = 0;
for (let n = 0; n < 200_000; n++) {
  const shape = n % 2 ? new Square(n % 100) : new Circle(n % 50);
  total += shape.area();
  if (n % 4 === 0) length += shape.describe().length;
}
console.log(total.toFixed(3), length);
