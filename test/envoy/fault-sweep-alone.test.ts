import { describe } from 'vitest';
import { checkAlone, checkUnseen } from './support/fault-sweep/check-sweep.ts';
import { sweepShapes } from './support/fault-sweep/sweep-shapes.ts';
import { sweep } from './support/fault-sweep/sweep-suite.ts';

const seed = 20_260_802;
const shapes = Object.values(sweepShapes);

describe('with a single route', () => {
  sweep({ shapes, second: 'none' }, seed, [
    {
      title: 'a stream that breaks says so, and what was delivered is billed',
      ...{ check: checkAlone, bytes: 40, oneOf: 5, spareIsIdle: true },
    },
    {
      title: 'an answer in one piece that breaks is a 502 and costs nothing',
      ...{ check: checkAlone, bytes: 40, oneOf: 8, stream: false },
    },
  ]);
});

describe('with a second route that continues no answer', () => {
  sweep({ shapes, second: 'discontinuous' }, seed, [
    {
      title: 'a stream of text that breaks says so, and the second route is not asked to go on',
      ...{ check: checkAlone, shapes: [sweepShapes.text], bytes: 60, oneOf: 3 },
    },
    {
      title: 'an answer in one piece that breaks comes whole from there',
      ...{ check: checkUnseen, bytes: 40, oneOf: 6, stream: false },
    },
  ]);
});
