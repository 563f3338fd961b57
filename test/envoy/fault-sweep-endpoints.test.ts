// @suite long
import { sweepShapes } from './support/fault-sweep/sweep-shapes.ts';
import { sweepUnseen } from './support/fault-sweep/sweep-suite.ts';

const { text, reasoning, json, tools, choices } = sweepShapes;

/** The sweep between two routes, between two endpoints of one Backend: at every boundary, and at fewer bytes. */
sweepUnseen({
  shapes: [text, reasoning, json, tools, choices],
  seed: 20_260_805,
  bytesFor: () => 20,
  second: 'endpoint',
});
