import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chanceFrom } from '../../test/support/chance.ts';
import { type AnswerLength, createAnswerLengths } from './answer-lengths.ts';

const model = 'demo/tiny';
const prior = 4_096;

/** What is expected after these answers. */
function p90After(answers: readonly AnswerLength[], assumed = prior): number {
  const lengths = createAnswerLengths();
  for (const answer of answers) lengths.learn(model, answer);
  return lengths.p90(model, assumed);
}

const whole = (tokens: number): AnswerLength => ({ tokens, end: 'whole' });
const cutOff = (tokens: number): AnswerLength => ({ tokens, end: 'cut-off' });
const times = (count: number, answer: AnswerLength): AnswerLength[] => Array.from({ length: count }, () => answer);

/** Expects tokens that are not too few, and a tenth too many at most: buckets are that wide. */
function expectAbout(found: number, tokens: number): void {
  expect(found).toBeGreaterThanOrEqual(tokens);
  expect(found).toBeLessThanOrEqual(Math.ceil(tokens * 1.1));
}

describe('the p90 of a model’s answers', () => {
  it('is the prior while nothing is known', () => {
    expect(p90After([])).toBe(prior);
    expect(p90After([], 700)).toBe(700);
  });

  it('keeps to the prior until eighteen answers were shorter, and follows longer ones at once', () => {
    expectAbout(p90After(times(17, whole(300))), prior);
    expectAbout(p90After(times(18, whole(300))), 300);
    expectAbout(p90After(times(1, whole(20_000))), 20_000);
  });

  it.each<[string, readonly AnswerLength[], number]>([
    ['one in twenty longer', [...times(95, whole(200)), ...times(5, whole(9_000))], 200],
    ['one in five longer', [...times(80, whole(200)), ...times(20, whole(9_000))], 9_000],
    ['all of one token', times(500, whole(1)), 1],
    ['a length that no bucket holds', times(100, whole(10_000_000)), 1.1 ** 146],
    ['caps that hide how long they would have been', times(500, cutOff(16)), prior],
    ['half of them cut off before the others ended', [...times(250, cutOff(16)), ...times(250, whole(700))], 700],
    ['half of them cut off after the others ended', [...times(250, whole(300)), ...times(250, cutOff(1_000))], prior],
    ['nobody knows how much longer', [...times(500, whole(300)), ...times(500, cutOff(9_000))], 9_000],
  ])('with %s', (_, answers, tokens) => {
    expectAbout(p90After(answers), tokens);
  });

  it('agrees with the sorted list of the answers, whatever they are', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 500_000 }), { minLength: 1, maxLength: 400 }), (all) => {
        const sorted = [...all, prior, prior].toSorted((a, b) => a - b);
        expectAbout(p90After(all.map(whole)), sorted[Math.ceil(sorted.length * 0.9) - 1] ?? 0);
      }),
    );
  });

  it('sees through cuts at any length: answers cut at random are as long as they would have been', () => {
    const chance = chanceFrom(7);
    const answers = Array.from({ length: 900 }, () => {
      const [would, cut] = [1 + chance.below(1_000), 1 + chance.below(2_000)];
      return cut < would ? cutOff(cut) : whole(would);
    });
    const p90 = p90After(answers);
    expect(p90).toBeGreaterThan(850);
    expect(p90).toBeLessThan(1_100);
  });

  it('follows a change of use within a thousand answers', () => {
    const short = times(20_000, whole(50));
    expectAbout(p90After([...short, ...times(200, whole(3_000))]), 3_000);
    expectAbout(p90After([...times(20_000, whole(3_000)), ...times(2_000, whole(50)), ...short]), 50);
  });

  it('is each model’s own, and forgotten with it', () => {
    const lengths = createAnswerLengths();
    for (const id of [model, 'demo/other']) for (const answer of times(50, whole(80))) lengths.learn(id, answer);
    expectAbout(lengths.p90(model, prior), 80);
    expect(lengths.p90('demo/new', prior)).toBe(prior);
    lengths.retain(new Map([['demo/other', {}]]));
    expect(lengths.p90(model, prior)).toBe(prior);
    expectAbout(lengths.p90('demo/other', prior), 80);
  });
});
