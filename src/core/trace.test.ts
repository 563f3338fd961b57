import { expect, it } from 'vitest';
import { readTraceparent, writeTraceparent } from './trace.ts';

const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
const span = '00f067aa0ba902b7';

it.each([
  [`00-${trace}-${span}-01`, true],
  [`00-${trace}-${span}-00`, false],
  // Only the lowest bit says whether a trace is sampled.
  [`00-${trace}-${span}-03`, true],
  [`00-${trace}-${span}-02`, false],
  // A later version may go on.
  [`01-${trace}-${span}-01`, true],
  [`01-${trace}-${span}-01-more`, true],
])('reads %s', (text, isSampled) => {
  expect(readTraceparent(text)).toEqual({ traceId: trace, spanId: span, isSampled });
});

it.each([
  '',
  'garbage',
  `00-${trace}-${span}`,
  `00-${trace}-${span}-1`,
  `00-${trace}-${span}-01-more`,
  `00-${trace.toUpperCase()}-${span}-01`,
  `00-${'0'.repeat(32)}-${span}-01`,
  `00-${trace}-${'0'.repeat(16)}-01`,
  `ff-${trace}-${span}-01`,
  ` 00-${trace}-${span}-01`,
])('takes %j for no traceparent', (text) => {
  expect(readTraceparent(text)).toBeUndefined();
});

it.each([true, false])('writes what it reads, sampled: %s', (isSampled) => {
  const place = { traceId: trace, spanId: span, isSampled };
  expect(readTraceparent(writeTraceparent(place))).toEqual(place);
});
