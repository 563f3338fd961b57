import { describe, expect, test } from 'vitest';
import { costsOf, figuresOf, spreadOf } from './figures.ts';
import type { Sample } from './sample.ts';

function sample(over: Pick<Sample, 'target' | 'round'> & Partial<Sample>): Sample {
  return {
    scenario: 'json',
    answers: 1,
    answersPerSecond: 0,
    chunksPerSecond: 0,
    firstByteP50Ms: undefined,
    firstByteP99Ms: undefined,
    durationP50Ms: undefined,
    durationP99Ms: undefined,
    cpuMsPerSecond: { service: undefined, envoy: undefined, bench: undefined },
    failures: {},
    ...over,
  };
}

test.each([
  [[], undefined],
  [[4], { median: 4, min: 4, max: 4 }],
  [[3, 1, 2], { median: 2, min: 1, max: 3 }],
  [[10, 4, 1, 2], { median: 3, min: 1, max: 10 }],
])('the spread of %j', (values, spread) => {
  expect(spreadOf(values)).toEqual(spread);
});

describe('a comparison', () => {
  test('is made within a round, not between medians', () => {
    const samples = [
      sample({ target: 'plain', round: 1, answersPerSecond: 1_000 }),
      sample({ target: 'weir', round: 1, answersPerSecond: 200 }),
      // A slow minute of the machine.
      sample({ target: 'plain', round: 2, answersPerSecond: 100 }),
      sample({ target: 'weir', round: 2, answersPerSecond: 20 }),
    ];
    const [figure] = figuresOf(samples);
    expect(figure).toMatchObject({ compared: { median: 0.2, min: 0.2, max: 0.2 }, kept: true });
  });

  test('leaves out a round that lacks one of the two', () => {
    const [figure] = figuresOf([
      sample({ target: 'plain', round: 1, answersPerSecond: 100 }),
      sample({ target: 'weir', round: 2, answersPerSecond: 20 }),
    ]);
    expect(figure).toMatchObject({ compared: undefined, kept: undefined });
  });

  test.each([
    [0.14, true],
    [0.1399, false],
  ])('of %d keeps the bar of 0.14: %s', (ratio, kept) => {
    const [figure] = figuresOf([
      sample({ target: 'plain', round: 1, answersPerSecond: 1 }),
      sample({ target: 'weir', round: 1, answersPerSecond: ratio }),
    ]);
    expect(figure?.kept).toBe(kept);
  });

  test.each([
    [2.5, true],
    [2.6, false],
  ])('of a first byte at %d ms beside 1 ms keeps the bar of +1.5 ms: %s', (ms, kept) => {
    const figures = figuresOf([
      sample({ scenario: 'first-byte-stream', target: 'plain', round: 1, firstByteP50Ms: 1 }),
      sample({ scenario: 'first-byte-stream', target: 'weir', round: 1, firstByteP50Ms: ms }),
    ]);
    expect(figures.find((figure) => figure.name === 'first byte p50, streams at 200/s')?.kept).toBe(kept);
  });
});

test('processor time is told per answer and per chunk, the service and Envoy apart', () => {
  const costs = costsOf([
    sample({
      target: 'weir',
      round: 1,
      answersPerSecond: 500,
      cpuMsPerSecond: { service: 200, envoy: 100, bench: 50 },
    }),
    sample({
      scenario: 'alone',
      target: 'weir',
      round: 1,
      answersPerSecond: 48,
      chunksPerSecond: 4_800,
      cpuMsPerSecond: { service: 240, envoy: 192, bench: 48 },
    }),
  ]);
  expect(costs.map(({ name, service, envoy }) => [name, service?.median, envoy?.median])).toEqual([
    ['per JSON answer, full load', 0.4, 0.2],
    ['per chunk alone, 4800/s', 50, 40],
  ]);
});
