/**
 * Values by a number, for what comes and goes all the time: a Map in its place costs a collection of the young generation ten
 * times as much (measured). A Map that shrinks or grows moves to a new table, and the old one points to it. Once a table has
 * grown old, and is dead, it keeps the next one, which keeps the next, with all that ever was in them, until the whole heap
 * is collected. An object with numbered properties has no such chain.
 */
export class ByNumber<Value> {
  #values: Record<number, Value> = Object.create(null);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(number: number): Value | undefined {
    return this.#values[number];
  }

  set(number: number, value: Value): void {
    if (!(number in this.#values)) this.#size += 1;
    this.#values[number] = value;
  }

  delete(number: number): boolean {
    if (!(number in this.#values)) return false;
    this.#size -= 1;
    return delete this.#values[number];
  }

  clear(): void {
    this.#values = Object.create(null);
    this.#size = 0;
  }

  /** What is there now, in the order of the numbers. */
  values(): readonly Value[] {
    return Object.values(this.#values);
  }
}
