// @suite long
import { sweep } from './support/fault-sweep/sweep-suite.ts';
import { sweepVariants } from './support/fault-sweep/sweep-variants.ts';

const faults = ['cut', 'error-then-done', 'malformed-then-cut'] as const;

await sweep(
  20_260_804,
  Object.entries(sweepVariants).map(([name, shapes]) => ({
    title: `answers that break (${name}) are delivered as if nothing had happened`,
    ...{ shapes, faults, bytes: 14, oneOf: 2 },
  })),
);
