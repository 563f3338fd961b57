import { askThroughClient } from './support/fault-sweep/sweep-client.ts';
import { sweepShapes } from './support/fault-sweep/sweep-shapes.ts';
import { sweep } from './support/fault-sweep/sweep-suite.ts';

await sweep(20_260_803, [
  {
    title: 'the official client’s stream helper notices none of the faults',
    ...{ shapes: Object.values(sweepShapes), bytes: 40, oneOf: 8, ask: askThroughClient },
  },
]);
