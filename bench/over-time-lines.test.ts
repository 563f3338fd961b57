import { createHistogram } from 'node:perf_hooks';
import { expect, test } from 'vitest';
import { firstBytesOf, heldShape, pausesOf, type WeirSecond } from './over-time.ts';
import { memoryPicture, tailsPicture } from './over-time-lines.ts';

const mebibyte = 2 ** 20;
const second = (at: number, portal: number | undefined): WeirSecond => ({
  ...{ second: at, delayMs: 1.234, collectionMs: 3, longestCollectionMs: 2 },
  memory: { service: 100 * mebibyte, portal, envoy: 1.5 * mebibyte },
});

test('a second without an answer has no first byte', () => {
  const histogram = createHistogram({ lowest: 1, highest: 3_600_000_000, figures: 3 });
  for (let index = 0; index < 98; index += 1) histogram.record(2_000);
  for (let index = 0; index < 2; index += 1) histogram.record(50_000);
  const firstByteBySecond = [createHistogram(), histogram];
  const [found, ...others] = firstBytesOf({ firstByteBySecond }, { target: 'weir', from: 10 });
  expect(others).toEqual([]);
  expect(found).toMatchObject({ target: 'weir', second: 11, answers: 100 });
  expect(found?.p50Ms).toBeCloseTo(2, 1);
  expect(found?.p99Ms).toBeCloseTo(50, 0);
});

test('pauses are added up, and the longest is kept', () => {
  const minor = { kind: 'minor', fromMs: 10, toMs: 12 } as const;
  expect(pausesOf([minor, { ...minor, toMs: 15 }])).toEqual({ collectionMs: 7, longestCollectionMs: 5 });
  expect(pausesOf([])).toEqual({ collectionMs: 0, longestCollectionMs: 0 });
});

test('the picture of the tails has a line for each gateway and percentile', () => {
  const firstByte = { answers: 200, p50Ms: 1.006, p99Ms: 3.1 };
  const picture = tailsPicture({
    streams: 2_000,
    firstBytes: [
      { target: 'weir', second: 0, ...firstByte },
      { target: 'plain', second: 10, ...firstByte, p99Ms: 2 },
    ],
    seconds: [second(0, undefined)],
    ...{ stalls: [], failures: {} },
  });
  expect(picture).toEqual({
    title: 'First byte at 200 streams a second, beside 2000 open streams',
    x: 'seconds',
    y: 'ms',
    lines: [
      { name: 'Weir p99', points: [[0, 3.1]] },
      { name: 'Weir p50', points: [[0, 1.01]] },
      { name: 'plain Envoy p99', points: [[10, 2]] },
      { name: 'plain Envoy p50', points: [[10, 1.01]] },
      { name: 'event loop, longest delay', points: [[0, 1.23]] },
      { name: 'garbage collection, longest pause', points: [[0, 2]] },
    ],
  });
});

test('the picture of memory has no point where the system does not say', () => {
  const seconds = [second(0, undefined), second(1, 90 * mebibyte)];
  expect(memoryPicture({ streams: 10, seconds }).lines).toEqual([
    {
      name: 'service',
      points: [
        [0, 100],
        [1, 100],
      ],
    },
    { name: 'portal', points: [[1, 90]] },
    {
      name: 'Envoy',
      points: [
        [0, 1.5],
        [1, 1.5],
      ],
    },
  ]);
});

test('an open stream outlives the run', () => {
  const { chunks, pace } = heldShape({ streams: 10_000, seconds: 3_600 });
  if (pace.kind !== 'apart') throw new Error('a slow stream has pauses');
  expect((chunks * pace.gapMs) / 1000).toBeGreaterThan(3_600 + (10_000 * 5) / 1000);
});
