import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chanceFrom } from '../../../test/support/chance.ts';
import type { Usage } from '../../core/money.ts';
import {
  type AnswerLength,
  createAnswerLengths,
  expectOutput,
  expectUsage,
  minExpected,
  lengthOf,
  priors,
} from './expected-output.ts';

const model = { id: 'demo/tiny', contextLength: 131_072, reasoning: { mode: 'Optional', efforts: [] } } as const;
type Asked = Parameters<typeof expectOutput>[0];
const asked = (fields: Partial<Asked> = {}): Asked => ({ sampling: {}, ...fields });
/** A model that has shown nothing, and one that has shown the length of its answers. */
const untried = { p90: (_: string, prior: number) => prior };
const showing = (tokens: number) => ({ p90: () => tokens });

describe('the output to be expected of a request', () => {
  it.each<[string, Asked, { readonly p90: (id: string, prior: number) => number }, number]>([
    ['no cap, of an untried model', asked(), untried, priors.reasoning],
    ['no reasoning', asked({ reasoning: { enabled: false } }), untried, priors.plain],
    ['some reasoning', asked({ reasoning: { enabled: true } }), untried, priors.reasoning],
    ['a small cap, of an untried model', asked({ maxOutputTokens: 700 }), untried, 700],
    ['a large cap, of an untried model', asked({ maxOutputTokens: 9_000 }), untried, 9_000],
    ['an agent’s cap, of an untried model', asked({ maxOutputTokens: 64_000 }), untried, priors.mostOfCap],
    ['no cap', asked(), showing(900), 900],
    ['a cap above the p90', asked({ maxOutputTokens: 64_000 }), showing(900), 900],
    ['a cap below the p90', asked({ maxOutputTokens: 100 }), showing(900), 100],
    ['a cap below the least', asked({ maxOutputTokens: 5 }), showing(1), 5],
    ['answers of one word', asked(), showing(1), minExpected],
    ['several choices', asked({ sampling: { n: 4 } }), showing(900), 3_600],
    ['several choices with a cap each', asked({ sampling: { n: 4 }, maxOutputTokens: 100 }), showing(900), 400],
    ['answers beyond the window', asked(), showing(1_000_000), 131_072],
  ])('with %s', (_, request, lengths, tokens) => {
    expect(expectOutput(request, model, lengths)).toBe(tokens);
  });
});

it('a model that does not reason is expected to answer as one that was asked not to', () => {
  const plain = { ...model, reasoning: { mode: 'None', efforts: [] } } as const;
  expect(expectOutput(asked(), plain, untried)).toBe(priors.plain);
});

describe('what a request is expected to use', () => {
  it('stays the same while what was expected is delivered, and grows with what was not', () => {
    const used = (completionTokens: number): Usage => ({ promptTokens: 10, completionTokens, cachedTokens: 4 });
    expect([0, 1, 899, 900, 901, 5_000].map((tokens) => expectUsage(used(tokens), asked(), 900))).toEqual(
      [900, 900, 900, 900, 901, 5_000].map(used),
    );
  });

  it('holds one search and a second reading of the prompt until the first search is made', () => {
    const searching = asked({ webSearch: {} });
    expect(expectUsage({ promptTokens: 10, completionTokens: 5 }, searching, 900)).toEqual({
      ...{ promptTokens: 20, completionTokens: 900, webSearches: 1 },
    });
    const searched = { promptTokens: 700, completionTokens: 5, webSearches: 3 };
    expect(expectUsage(searched, searching, 900)).toEqual({ ...searched, completionTokens: 900 });
    const unexpected = { promptTokens: 10, completionTokens: 5 };
    expect(expectUsage(unexpected, searching, 0)).toEqual(unexpected);
  });
});

describe('what an answer says about the length of answers', () => {
  const used = (completionTokens: number): Usage => ({ promptTokens: 10, completionTokens });
  it.each<[string, Asked, string, number, ReturnType<typeof lengthOf>]>([
    ['a whole one', asked(), 'completed', 40, { tokens: 40, end: 'whole' }],
    ['one within its cap', asked({ maxOutputTokens: 41 }), 'completed', 40, { tokens: 40, end: 'whole' }],
    ['one that its cap ended', asked({ maxOutputTokens: 40 }), 'completed', 40, { tokens: 40, end: 'cut-off' }],
    ['one that its caller left', asked(), 'cancelled', 40, { tokens: 40, end: 'cut-off' }],
    ['one that broke off', asked(), 'interrupted', 40, { tokens: 40, end: 'cut-off' }],
    ['three choices', asked({ sampling: { n: 3 } }), 'completed', 40, { tokens: 14, end: 'whole' }],
    [
      'three choices within their caps',
      asked({ sampling: { n: 3 }, maxOutputTokens: 40 }),
      ...(['completed', 119, { tokens: 40, end: 'whole' }] as const),
    ],
    [
      'three choices that their caps ended',
      asked({ sampling: { n: 3 }, maxOutputTokens: 40 }),
      ...(['completed', 120, { tokens: 40, end: 'cut-off' }] as const),
    ],
    ['nothing', asked(), 'failed', 0, undefined],
  ])('%s', (_, request, kind, tokens, length) => {
    expect(lengthOf(request, { kind, usage: used(tokens) })).toEqual(length);
  });
});

const prior = 4_096;

/** What is expected after these answers. */
function p90After(answers: readonly AnswerLength[], assumed = prior): number {
  const lengths = createAnswerLengths();
  for (const answer of answers) lengths.learn('demo/tiny', answer);
  return lengths.p90('demo/tiny', assumed);
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
    for (const id of ['demo/tiny', 'demo/other']) for (const answer of times(50, whole(80))) lengths.learn(id, answer);
    expectAbout(lengths.p90('demo/tiny', prior), 80);
    expect(lengths.p90('demo/new', prior)).toBe(prior);
    lengths.retain(new Map([['demo/other', {}]]));
    expect(lengths.p90('demo/tiny', prior)).toBe(prior);
    expectAbout(lengths.p90('demo/other', prior), 80);
  });
});
