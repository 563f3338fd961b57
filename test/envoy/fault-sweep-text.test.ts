// @suite long
import { sweepShapes } from './support/fault-sweep/sweep-shapes.ts';
import { sweep } from './support/fault-sweep/sweep-suite.ts';

await sweep(
  20_260_801,
  [sweepShapes.text, sweepShapes.reasoning, sweepShapes.json].map((shape) => ({
    title: `an answer (${shape.name}) that breaks anywhere is delivered as if nothing had happened`,
    ...{ shapes: [shape], bytes: 200 },
  })),
);
