// A first-in-first-out list that needs nothing scripts can patch.

export class Queue {
  first = null;
  last = null;

  get isEmpty() {
    return this.first === null;
  }

  push(value) {
    const node = { value, next: null };
    if (this.last) this.last.next = node;
    else this.first = node;
    this.last = node;
  }

  shift() {
    const node = this.first;
    this.first = node.next;
    if (!this.first) this.last = null;
    return node.value;
  }

  /** Hands over all there is as a queue of its own, and is empty then. */
  take() {
    const taken = new Queue();
    taken.first = this.first;
    taken.last = this.last;
    this.first = this.last = null;
    return taken;
  }
}
