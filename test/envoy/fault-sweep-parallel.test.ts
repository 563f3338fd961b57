// @suite long
import { sweepShapes } from './support/fault-sweep/sweep-shapes.ts';
import { sweepUnseen } from './support/fault-sweep/sweep-suite.ts';

sweepUnseen({
  shapes: [sweepShapes.tools, sweepShapes.spokenTools, sweepShapes.choices],
  seed: 20_260_801,
  // Text before tools is two answers that are swept by themselves.
  bytesFor: (shape) => (shape === sweepShapes.spokenTools ? 60 : 200),
});
