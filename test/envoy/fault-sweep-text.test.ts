// @suite long
// @suite long
import { sweepShapes } from './support/fault-sweep/sweep-shapes.ts';
import { sweepUnseen } from './support/fault-sweep/sweep-suite.ts';

sweepUnseen({
  shapes: [sweepShapes.text, sweepShapes.reasoning, sweepShapes.json],
  seed: 20_260_801,
  bytesFor: () => 200,
});
