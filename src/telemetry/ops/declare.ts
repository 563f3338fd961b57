import { Counter, Gauge, Histogram, type LabelValues, type Registry } from 'prom-client';
import type { ExemplarRegistry } from './exposition.ts';

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

/**
 * Declares gauges with labels, each with a function that reads all its values. At a scrape, values that are not read
 * again go.
 */
export function labelledGaugesOf(registry: Registry) {
  return <Label extends string>(
    name: string,
    help: string,
    labelNames: readonly Label[],
    read: () => LabelledValues<Label> | Promise<LabelledValues<Label>>,
  ): void => {
    new Gauge({
      name,
      help,
      registers: [registry],
      labelNames,
      async collect() {
        const values = await read();
        this.reset();
        for (const [labels, value] of values) this.set(labels, value);
      },
    });
  };
}

type LabelledValues<Label extends string> = Iterable<readonly [labels: LabelValues<Label>, value: number]>;

/** Declares a counter whose total is stored elsewhere. */
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

/** Declares counters, with their labels. */
export function countersOf(registry: Registry) {
  return <Label extends string>(name: string, help: string, ...labelNames: readonly Label[]): Counter<Label> =>
    new Counter({ name, help, registers: [registry], labelNames });
}

/** Declares histograms, with their labels and the upper bounds of their buckets. */
export function histogramsOf(registry: Registry) {
  return <Label extends string>(
    name: string,
    help: string,
    { buckets, labelNames }: { readonly buckets: number[]; readonly labelNames: readonly Label[] },
  ): Histogram<Label> => new Histogram({ name, help, registers: [registry], labelNames, buckets });
}

/**
 * Names one request as the example of a value: for `weir explain`, and for a viewer of traces if the request is traced.
 */
export type Exemplar = Readonly<Partial<Record<'request_id' | 'trace_id', string>>>;

/** Declares histograms whose buckets remember the last request that fell into them. */
export function exemplarHistogramsOf(registry: ExemplarRegistry) {
  return <Label extends string>(
    name: string,
    help: string,
    { buckets, labelNames }: { readonly buckets: number[]; readonly labelNames: readonly Label[] },
  ): Histogram<Label | keyof Exemplar> =>
    new Histogram<Label | keyof Exemplar>({
      name,
      help,
      registers: [registry],
      labelNames,
      buckets,
      enableExemplars: true,
    });
}
