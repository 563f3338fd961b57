import { Counter, Gauge, type Registry } from 'prom-client';

/** Declares gauges without labels, each with a function that reads its value. */
export function gaugesOf(registry: Registry) {
  return (name: string, help: string, read: () => number): void => {
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(read());
      },
    });
  };
}

/** Declares a counter whose total is kept elsewhere. */
export function addTotal(
  registry: Registry,
  { name, help, total }: { readonly name: string; readonly help: string; readonly total: () => number },
): void {
  new Counter({
    name,
    help,
    registers: [registry],
    collect() {
      this.reset();
      this.inc(total());
    },
  });
}
