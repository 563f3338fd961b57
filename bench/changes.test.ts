import { expect, test } from 'vitest';
import { comparisonsOf } from './changes.ts';
import { sampleOf } from './sample-of.ts';
import type { Sample } from './sample.ts';

const json = (target: Sample['target'], round: number, figures: Partial<Sample>): Sample =>
  sampleOf({ target, round, ...figures });

test('two checkouts are compared within each round', () => {
  const samples = [
    json('before', 1, { answersPerSecond: 1_000 }),
    json('weir', 1, { answersPerSecond: 900 }),
    // A slow minute of the machine.
    json('before', 2, { answersPerSecond: 100 }),
    json('weir', 2, { answersPerSecond: 90 }),
  ];
  expect(comparisonsOf(samples)).toMatchObject([
    {
      ...{ before: 'before', now: 'weir' },
      changes: expect.arrayContaining([
        expect.objectContaining({ name: 'JSON answers', compared: { median: 0.9, min: 0.9, max: 0.9 } }),
      ]),
    },
  ]);
});

test('processor time counts the service and its Envoy, and not the bench', () => {
  const cpu = (service: number) => ({ service, envoy: 100, bench: 700 });
  const samples = [
    json('before', 1, { answersPerSecond: 100, cpuMsPerSecond: cpu(100) }),
    json('weir', 1, { answersPerSecond: 100, cpuMsPerSecond: cpu(300) }),
  ];
  const change = comparisonsOf(samples)[0]?.changes.find(({ name }) => name === 'processor time per JSON answer');
  expect(change).toMatchObject({ before: { median: 2 }, now: { median: 4 }, compared: { median: 2 } });
});

test('with tracing, a Weir is compared with itself without', () => {
  const samples = (['weir', 'sampled', 'traced'] as const).map((target, index) =>
    json(target, 1, { answersPerSecond: 100 - 10 * index }),
  );
  expect(comparisonsOf(samples).map(({ before, now, changes }) => [before, now, changes[0]?.compared?.median])).toEqual(
    [
      ['weir', 'sampled', 0.9],
      ['weir', 'traced', 0.8],
    ],
  );
});
