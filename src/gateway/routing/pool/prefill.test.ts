import { describe, expect, it } from 'vitest';
import { chanceFrom } from '../../../../test/support/chance.ts';
import { assumedPrefill } from './endpoint-state.ts';
import { createEvidence, createPrefill, type Prefill } from './prefill.ts';

/** How many prompts an endpoint works on at once, by the number of the prompt. */
type Slots = (prompt: number) => number;

interface Served {
  /** After each prompt. */
  readonly isQueue: readonly boolean[];
  /** The mean error of the predictions for the last fifty prompts, as a part of the time. */
  readonly error: number;
}

const eachMs = 0.08;

/** Sends prompts three at a time, a little faster than a queue computes them. */
function serve(prefill: Prefill, slots: Slots): Served {
  const chance = chanceFrom(1);
  const open: { readonly tokens: number; readonly at: number }[] = [];
  const isQueue: boolean[] = [];
  const errors: number[] = [];
  let now = 0;
  for (let prompt = 0; prompt < 250; prompt += 1) {
    const tokens = 200 + chance.below(3000);
    while ((open[0]?.at ?? Infinity) <= now) open.shift();
    const ahead = open.reduce((sum, one) => sum + one.tokens, 0);
    const count = slots(prompt);
    const ends = open.map(({ at }) => at);
    const freeAt = ends.length < count ? now : (ends.at(-count) ?? now);
    const at = freeAt + 20 + tokens * eachMs;
    const ms = at - now;
    errors.push(Math.abs(prefill.msFor(tokens + (prefill.isQueue() ? ahead : 0)) / ms - 1));
    prefill.measured({ own: tokens, ahead, ms, isSeen: true });
    isQueue.push(prefill.isQueue());
    open.push({ tokens, at });
    open.sort((a, b) => a.at - b.at);
    // Prompts come three at a time, and the next ones when a queue of one would have computed these.
    now += prompt % 3 === 2 ? 400 : 1;
  }
  return { isQueue, error: errors.slice(-50).reduce((sum, one) => sum + one, 0) / 50 };
}

/** Believes what it is told, and learns nothing. */
const stubborn = (isQueue: boolean): Prefill =>
  createPrefill(assumedPrefill, { add: () => undefined, value: () => (isQueue ? -Infinity : Infinity) });

describe('what an endpoint works on at once', () => {
  it.each<readonly [string, { readonly slots: Slots; readonly last: boolean }]>([
    ['one prompt', { slots: () => 1, last: true }],
    ['four prompts', { slots: () => 4, last: false }],
    ['any number', { slots: () => Infinity, last: false }],
    ['any number, then one', { slots: (prompt) => (prompt < 100 ? Infinity : 1), last: true }],
    ['one, then any number', { slots: (prompt) => (prompt < 50 ? 1 : Infinity), last: false }],
  ])('is learned: %s', (_, { slots, last }) => {
    const { isQueue, error } = serve(createPrefill(assumedPrefill, createEvidence()), slots);
    expect(isQueue.at(-1)).toBe(last);
    // The twin, which believes the opposite, predicts worse.
    expect(error).toBeLessThan(serve(stubborn(!last), slots).error / 2);
  });

  it('is learned within twenty prompts, and a queue again within thirty', () => {
    const slots: Slots = (prompt) => (prompt < 100 ? Infinity : 1);
    const { isQueue } = serve(createPrefill(assumedPrefill, createEvidence()), slots);
    expect(isQueue.slice(20, 100)).not.toContain(true);
    expect(isQueue.slice(130)).not.toContain(false);
  });

  it('is learned with the help of the other endpoints, and of a queue among them by itself', () => {
    const pool = createEvidence();
    for (let other = 0; other < 3; other += 1) serve(createPrefill(assumedPrefill, pool), () => Infinity);
    const [fresh, queue] = [createPrefill(assumedPrefill, pool), createPrefill(assumedPrefill, pool)];
    expect(fresh.isQueue()).toBe(false);
    expect(serve(queue, () => 1).isQueue.at(-1)).toBe(true);
  });

  it('is a queue as long as nothing has waited, and where answers do not stream', () => {
    for (const sample of [
      { ahead: 0, isSeen: true },
      { ahead: 9000, isSeen: false },
    ]) {
      const prefill = createPrefill(assumedPrefill, createEvidence());
      for (let prompt = 0; prompt < 100; prompt += 1) prefill.measured({ own: 1000, ms: 100, ...sample });
      expect(prefill.isQueue()).toBe(true);
    }
  });
});
