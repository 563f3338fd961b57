import { describe, expect, test } from 'vitest';
import { costsOf, figuresOf, spreadOf } from './figures.ts';
import { sampleOf as sample } from './sample-of.ts';

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
    expect(figure).toMatchObject({ compared: { median: 0.2, min: 0.2, max: 0.2 } });
  });

  test('leaves out a round that lacks one of the two', () => {
    const [figure] = figuresOf([
      sample({ target: 'plain', round: 1, answersPerSecond: 100 }),
      sample({ target: 'weir', round: 2, answersPerSecond: 20 }),
    ]);
    expect(figure).toMatchObject({ compared: undefined });
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
      scenario: 'alone-64',
      target: 'weir',
      round: 1,
      answersPerSecond: 48,
      chunksPerSecond: 4_800,
      cpuMsPerSecond: { service: 240, envoy: 192, bench: 48 },
    }),
  ]);
  expect(costs.map(({ name, service, envoy }) => [name, service?.median, envoy?.median])).toEqual([
    ['per JSON answer, full load', 0.4, 0.2],
    ['per chunk alone, 64 streams, 4800/s', 50, 40],
  ]);
});
