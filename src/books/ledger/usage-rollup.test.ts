import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  codes,
  type Countable,
  histogramBounds,
  histogramColumns,
  quantileOf,
  usageMeasures,
  usageOf,
} from './usage-rollup.ts';

const plain: Countable = {
  ...{ startedAt: 0, key: 1, model: 1, surface: 0, outcome: 0, tags: [] },
  ...{ sums: [1n, 2n, 3n, 4n, 5n, 6n], firstTokenMs: undefined, durationMs: 0 },
};

function measured(requests: readonly Countable[]) {
  const [usage] = usageOf(requests, 'usage_days');
  return Object.fromEntries(
    usageMeasures.map((name, index) => [name, usage?.measures[index]] as const).filter(([, count]) => count !== 0n),
  );
}

it('sums requests of one key, model, surface and outcome by hour and by day', () => {
  const hours = [0, 1, 23, 24].map((hour) => ({ ...plain, startedAt: hour * 3_600_000 + 3_599_999 }));
  expect(usageOf(hours, 'usage_hours').map(({ period }) => period)).toEqual([0, 1, 23, 24]);
  expect(usageOf(hours, 'usage_days').map(({ period, measures }) => [period, measures[0]])).toEqual([
    [0, 3n],
    [1, 1n],
  ]);
  expect(measured([plain, plain])).toEqual({
    ...{ requests: 2n, prompt_tokens: 2n, completion_tokens: 4n, cached_tokens: 6n, reasoning_tokens: 8n },
    ...{ web_searches: 10n, cost: 12n, duration_le_100: 2n },
  });
});

it('counts a request once in the rollup of each of its tags', () => {
  const tagged = [[3, 1], [3], []].map((tags) => ({ ...plain, tags }));
  const counts = usageOf(tagged, 'usage_tags').map(({ tag, measures }) => [tag, measures[0]]);
  expect(counts).toEqual([
    [1, 1n],
    [3, 2n],
  ]);
});

it.each([
  ['first_token', 'firstTokenMs'],
  ['duration', 'durationMs'],
] as const)('puts each time into the first bucket of %s whose bound it does not pass', (histogram, field) => {
  const bounds = histogramBounds[histogram];
  const none = { ...plain, durationMs: 0 };
  for (const [index, bound] of bounds.entries()) {
    const column = histogramColumns(histogram)[index];
    expect(measured([{ ...none, [field]: bound }])).toMatchObject({ [column ?? '']: 1n });
    expect(measured([{ ...none, [field]: bound + 1 }])).toMatchObject({
      [histogramColumns(histogram)[index + 1] ?? '']: 1n,
    });
  }
});

it('gives groups in the order of the primary key, each once', () => {
  const small = fc.nat({ max: 3 });
  const request = fc
    .record({ startedAt: fc.nat({ max: 9_000_000 }), key: small, model: small, surface: small, outcome: small })
    .map((fields): Countable => ({ ...plain, ...fields }));
  fc.assert(
    fc.property(fc.array(request), (requests) => {
      const usage = usageOf(requests, 'usage_hours');
      const keys = usage.map(({ period, key, model, surface, outcome }) => [period, key, model, surface, outcome]);
      expect(keys.map(String)).toEqual([...new Set(keys.map(String))]);
      expect(keys).toEqual(
        keys.toSorted((one, other) => one.map((part, index) => part - (other[index] ?? 0)).find((by) => by !== 0) ?? 0),
      );
      expect(usage.reduce((sum, { measures }) => sum + (measures[0] ?? 0n), 0n)).toBe(BigInt(requests.length));
    }),
  );
});

it.each([
  // Bounds 25, 50, 100, 150 and so on.
  [[4], 0.5, 13],
  [[4], 1, 25],
  [[0, 0, 4], 0.5, 75],
  [[1, 0, 2, 1], 0.25, 25],
  [[1, 0, 2, 1], 0.5, 75],
  [[1, 0, 2, 1], 0.75, 100],
  [[1, 0, 2, 1], 1, 150],
  [[0, 0, 3], 0, 50],
  [[0], 0.5, undefined],
] as const)('of %j times to the first token the quantile %d is %s ms', (counts, quantile, ms) => {
  expect(quantileOf('first_token', counts, quantile)).toBe(ms);
});

it('gives the last bound for a quantile above it', () => {
  const counts = [1, ...Array<number>(histogramBounds.duration.length - 1).fill(0), 1];
  expect([0.5, 0.75, 1].map((quantile) => quantileOf('duration', counts, quantile))).toEqual([100, 300_000, 300_000]);
});

it('refuses a name without a code, and a code of a newer version', () => {
  const { codeOf, nameOf } = codes(['a', 'b']);
  expect([codeOf('b'), nameOf(1)]).toEqual([1, 'b']);
  expect(() => codeOf('c' as 'a')).toThrow(new RangeError('"c" has no code'));
  expect(() => nameOf(2)).toThrow(new RangeError('there is no name for the code 2'));
});
