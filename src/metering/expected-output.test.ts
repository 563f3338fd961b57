import { describe, expect, it } from 'vitest';
import type { Usage } from '../core/money.ts';
import { expectOutput, expectUsage, leastExpected, lengthOf, priors } from './expected-output.ts';

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
    ['answers of one word', asked(), showing(1), leastExpected],
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
    ['nothing', asked(), 'failed', 0, undefined],
  ])('%s', (_, request, kind, tokens, length) => {
    expect(lengthOf(request, { kind, usage: used(tokens) })).toEqual(length);
  });
});
