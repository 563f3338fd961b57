import { describe, expect, it, test } from 'vitest';
import { type Chance, chanceFrom } from '../../../test/support/chance.ts';
import { sampleOutcome } from '../../../test/support/sample-outcome.ts';
import type { Outcome } from '../../core/account.ts';
import {
  addSample,
  createSpeedWindow,
  emptyHistogram,
  figureOf,
  type SpeedHistogram,
  medianOf,
  newestAt,
  relativeError,
  type SpeedWindow,
  totalOf,
} from './speed-window.ts';
import { thresholds } from './thresholds.ts';

const { windowMs, windowSlices, freshMs, minSamples } = thresholds;
/** The beginning of a slice. */
const start = 1_780_200_000_000;

/** An answer of so many tokens per second, its first token after so long. */
function answer(perSecond: number, firstMs = 200, changes: Partial<Outcome> = {}): Outcome {
  const tokens = 101;
  const took = changes.stream === false ? (tokens * 1000) / perSecond : firstMs + ((tokens - 1) * 1000) / perSecond;
  const output = { tokens, tokensAtFirst: 1, firstMs: changes.stream === false ? took : firstMs, lastMs: took };
  return sampleOutcome({ output, ...changes });
}

const times = (count: number, outcome: Outcome): readonly Outcome[] => Array.from({ length: count }, () => outcome);

function windowOf(outcomes: readonly Outcome[], now = start): SpeedWindow {
  const window = createSpeedWindow();
  for (const outcome of outcomes) window.outcome(outcome, now);
  return window;
}
const figure = (window: SpeedWindow, now = start) => figureOf(window.slices(now), now);

/** Within the error of a bucket. */
function expectAbout(measured: number | undefined, expected: number): void {
  expect(Math.abs((measured ?? Number.NaN) - expected) / expected).toBeLessThanOrEqual(relativeError + 1e-9);
}

describe('the speed of a model', () => {
  it('is the median pace of its streams after their first delivery, and the median wait for it', () => {
    const chance = chanceFrom(3);
    const answers = Array.from({ length: 301 }, () => ({ pace: 20 + 100 * chance.next(), wait: 50 / chance.next() }));
    const window = windowOf(answers.map(({ pace, wait }) => answer(pace, wait)));
    const middle = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[150] ?? 0;
    expectAbout(figure(window)?.tokensPerSecondP50, middle(answers.map(({ pace }) => pace)));
    expectAbout(figure(window)?.firstTokenMsP50, middle(answers.map(({ wait }) => wait)));
  });

  it('leaves what came with the first delivery out of the pace', () => {
    const output = { tokens: 30, tokensAtFirst: 10, firstMs: 1000, lastMs: 2000 };
    expectAbout(figure(windowOf(times(5, sampleOutcome({ output }))))?.tokensPerSecondP50, 20);
  });

  it('is told of streams alone where there are enough of them', () => {
    const whole = times(100, answer(10, 0, { stream: false }));
    expectAbout(figure(windowOf([...times(minSamples, answer(80)), ...whole]))?.tokensPerSecondP50, 80);
    expectAbout(figure(windowOf([...times(minSamples - 1, answer(80)), ...whole]))?.tokensPerSecondP50, 10);
  });

  it('of whole answers alone has no time to first token', () => {
    const found = figure(windowOf(times(5, answer(40, 0, { stream: false }))));
    expectAbout(found?.tokensPerSecondP50, 40);
    expect(found?.firstTokenMsP50).toBeUndefined();
  });

  it('is told of estimated counts only when there is nothing else', () => {
    const estimated = times(50, answer(500, 200, { countedBy: 'estimate' }));
    expectAbout(figure(windowOf([...estimated, ...times(5, answer(60))]))?.tokensPerSecondP50, 60);
    expectAbout(figure(windowOf([...estimated, ...times(5, answer(6, 0, { stream: false }))]))?.tokensPerSecondP50, 6);
    expectAbout(figure(windowOf(estimated))?.tokensPerSecondP50, 500);
  });

  it('takes a stream that came in one burst for a whole answer', () => {
    const output = { tokens: 100, tokensAtFirst: 1, firstMs: 1000, lastMs: 1049 };
    expectAbout(figure(windowOf(times(5, sampleOutcome({ output }))))?.tokensPerSecondP50, 100_000 / 1049);
    const paced = { ...output, lastMs: 1050 };
    expectAbout(figure(windowOf(times(5, sampleOutcome({ output: paced }))))?.tokensPerSecondP50, 99_000 / 50);
  });

  it('counts what a caller who left had received, and nothing of answers that broke', () => {
    expectAbout(figure(windowOf(times(5, answer(70, 200, { kind: 'cancelled' }))))?.tokensPerSecondP50, 70);
    for (const kind of ['interrupted', 'incomplete', 'failed', 'service-lost'] as const) {
      expect(figure(windowOf(times(50, answer(70, 200, { kind })))), kind).toBeUndefined();
    }
  });

  it('is not told of short answers, whose wait still counts', () => {
    const brief = (tokens: number) =>
      times(5, sampleOutcome({ output: { tokens, tokensAtFirst: 1, firstMs: 40, lastMs: 1040 } }));
    expect(figure(windowOf(brief(15)))).toBeUndefined();
    expectAbout(figure(windowOf(brief(16)))?.tokensPerSecondP50, 15);
    const waits = figure(windowOf([...times(5, answer(30, 900)), ...brief(3), ...brief(3)]));
    expectAbout(waits?.tokensPerSecondP50, 30);
    expectAbout(waits?.firstTokenMsP50, 40);
  });

  it('says nothing of an answer without timing', () => {
    expect(figure(windowOf(times(50, sampleOutcome())))).toBeUndefined();
    const output = { tokens: 100, tokensAtFirst: 100, firstMs: 0, lastMs: 0 };
    expect(figure(windowOf(times(50, sampleOutcome({ output }))))).toBeUndefined();
  });
});

describe('a figure', () => {
  it('needs five measurements', () => {
    expect(figure(windowOf(times(minSamples - 1, answer(50))))).toBeUndefined();
    expect(figure(windowOf(times(minSamples, answer(50))))).toBeDefined();
  });

  it('says when the newest measurement in it was made, and is fresh for a quarter of an hour', () => {
    const window = windowOf(times(4, answer(50)), start);
    window.outcome(answer(50), start + 61_999);
    expect(figure(window, start + 61_999)?.asOf).toBe(start / 1000 + 61);
    expect(figure(window, start + 61_999 + freshMs)).toBeDefined();
    expect(figure(window, start + 61_999 + freshMs + 1)).toBeUndefined();
  });

  it('of stale streams gives way to fresh whole answers, with the time of those', () => {
    const window = windowOf(times(20, answer(80)), start);
    const later = start + freshMs + 1000;
    for (const outcome of times(5, answer(10, 0, { stream: false }))) window.outcome(outcome, later);
    expect(figure(window, later)).toEqual({ tokensPerSecondP50: expect.any(Number) as number, asOf: later / 1000 });
  });

  it('forgets what the window has turned past, a slice at a time', () => {
    const slice = windowMs / windowSlices;
    const window = windowOf(times(100, answer(10)), start);
    for (const outcome of times(99, answer(90))) window.outcome(outcome, start + windowMs - slice);
    expectAbout(figure(window, start + windowMs - 1)?.tokensPerSecondP50, 10);
    expectAbout(figure(window, start + windowMs)?.tokensPerSecondP50, 90);
  });
});

const histogramOf = (samples: readonly number[]): SpeedHistogram => {
  const histogram = emptyHistogram();
  samples.forEach((sample, index) => addSample(histogram, sample, index));
  return histogram;
};

/** The smallest value that at least half of the samples do not exceed. */
const median = (samples: readonly number[]): number =>
  samples.toSorted((a, b) => a - b)[Math.ceil(samples.length / 2) - 1] ?? Number.NaN;

const shapes: Readonly<Record<string, (chance: Chance) => number>> = {
  even: (chance) => 1 + 500 * chance.next(),
  'heavy-tailed': (chance) => Math.min(0.5 / chance.next() ** 2, 1_000_000),
  'two humps': (chance) => (chance.is(0.5) ? 20 : 2000) * (1 + chance.next() / 10),
  'one value': () => 81.5,
  'over the whole scale': (chance) => 0.1 * 10 ** (7 * chance.next()),
};

describe('a median', () => {
  it.each(Object.entries(shapes))('is within the stated error of the exact one: %s', (_, shape) => {
    expect(relativeError).toBeLessThanOrEqual(0.05);
    for (let seed = 1; seed <= 50; seed += 1) {
      const chance = chanceFrom(seed);
      const samples = Array.from({ length: 1 + chance.below(400) }, () => shape(chance));
      const exact = median(samples);
      const off = Math.abs(medianOf([histogramOf(samples)]) - exact) / exact;
      expect(off, `seed ${seed}, exactly ${exact}`).toBeLessThanOrEqual(relativeError + 1e-9);
    }
  });

  it('of nothing is 0', () => {
    expect([medianOf([]), medianOf([emptyHistogram()])]).toEqual([0, 0]);
  });

  it('stays on the scale whatever was measured', () => {
    expect(medianOf([histogramOf([0, 0, 0.000_1])])).toBeCloseTo(0.104, 3);
    const far = medianOf([histogramOf([1e300, 5e6, 2e6])]);
    expect(far).toBeGreaterThan(900_000);
    expect(far).toBeLessThan(1_100_000);
  });
});

test('histograms of several slices say together what one of all samples says', () => {
  const chance = chanceFrom(7);
  const all = emptyHistogram();
  const slices = [emptyHistogram(), emptyHistogram(), emptyHistogram()] as const;
  for (let at = 0; at < 3000; at += 1) {
    const sample = 0.05 / chance.next();
    addSample(all, sample, at);
    addSample(chance.pick(slices), sample, at);
    expect(medianOf(slices)).toBe(medianOf([all]));
  }
  expect([totalOf(slices), newestAt(slices)]).toEqual([3000, 2999]);
});
