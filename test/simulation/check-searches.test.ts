import { describe, expect, it } from 'vitest';
import type { ChoiceAnswer } from '../programmable-engine/answer.ts';
import type { ChatMessage } from '../programmable-engine/chat-message.ts';
import { answerOfRounds, foundIn, historyFaults, promptSums, searchFaults, turnFaults } from './check-searches.ts';
import type { HeardRound } from './heard-rounds.ts';
import { nothing, type ReceivedAnswer, type ReceivedSearch } from './received-choice.ts';
import { pagesOf } from './searches.ts';

const query = (number: number, outcome = 'found'): string => `CANARYPROMPT tides 7 ${number} ${outcome}`;
const urlsOf = (of: string): readonly string[] => pagesOf(of).map(({ url }) => url);
const search = (of: string) => ({ id: 'x', name: 'web_search', arguments: JSON.stringify({ query: of }) });

const turn = (role: string, text: string, calls = ''): ChatMessage =>
  ({ role, text, calls, reasoning: '', images: 0 }) as unknown as ChatMessage;

const round = (content: string, calls: ChoiceAnswer['calls'], turns: readonly ChatMessage[] = []): HeardRound => ({
  said: {
    content,
    calls,
    reasoning: 'hm ',
    finishReason: calls.length > 0 ? 'tool_calls' : 'stop',
  } as unknown as ChoiceAnswer,
  ...{ completionTokens: 5, promptTokens: new Set([10]), turns, history: [] },
});

const [one, two] = [query(1), query(2)];
const rounds = [round('Search. ', [search(one), search(two)]), round('It rises [cite:3]. So [cite:99].', [])];

const answer = (searches: readonly ReceivedSearch[], fields: Partial<ReceivedAnswer> = {}): ReceivedAnswer => ({
  ...{ ...nothing([]), searches, end: 'whole', citations: urlsOf(two).slice(0, 1) },
  ...fields,
});
const [first, second]: readonly ReceivedSearch[] = [one, two].map((of) => ({ query: of, result: urlsOf(of) }));
const good = [first!, second!];
const failed: ReceivedSearch = { query: two, result: 'error' };
const usage = (count: number) => ({ usage: { server_tool_use: { web_search_requests: count } } });
const uses = (maxUses: number | undefined) =>
  ({ rounds: [2], outcome: 'found', maxUses, struckRound: 0, follows: false }) as const;

interface Circumstances {
  readonly maxUses?: number;
  readonly found?: () => number;
  readonly isProviderUp?: boolean;
}

describe('the searches of an answer', () => {
  it.each([
    ['all of them', answer(good, usage(2)), {}, undefined],
    ['their beginning, where the caller has left', answer([first!], { end: 'open', citations: [] }), {}, undefined],
    ['fewer of them', answer([first!], { citations: [] }), {}, 'searches for'],
    ['another order', answer([second!, first!], { citations: urlsOf(one).slice(0, 1) }), {}, 'searches for'],
    ['other pages', answer([{ ...first!, result: ['https://x.example/'] }, second!]), {}, 'has found'],
    ['no result', answer([{ ...first!, result: 'open' }, second!], { citations: [] }), {}, 'has no result'],
    ['a failure while all is well', answer([first!, failed], { citations: [] }), {}, 'has failed'],
    ['a failure of the provider', answer([first!, failed], { citations: [] }), { isProviderUp: false }, undefined],
    ['a failure past the limit', answer([first!, failed], { citations: [] }), { maxUses: 1 }, undefined],
    ['more than are allowed', answer(good), { maxUses: 1 }, 'where 1 are allowed'],
    ['a result from nowhere', answer(good), { found: () => 0 }, 'that the provider did not give'],
    ['other citations', answer(good, { citations: urlsOf(one) }), {}, 'cites'],
    ['another count', answer(good, usage(1)), {}, 'the usage has 1'],
  ] as const)('are compared with those of the model: %s', (_, received, options, fault) => {
    const { maxUses, ...rest }: Circumstances = options;
    const by = { rounds, earlier: [], found: () => 1, isProviderUp: true, ...rest };
    const faults = searchFaults({ search: uses(maxUses) }, received, by);
    expect(faults.some((each) => fault === undefined || each.includes(fault))).toBe(fault !== undefined);
  });

  it('are billed where they have a result', () => {
    expect(foundIn(answer([first!, failed, { query: two, result: [] }, { query: two, result: 'open' }]))).toBe(2);
  });
});

it('an answer is what was said in all rounds, without the marks of known sources and the searches', () => {
  const { choices, completionTokens } = answerOfRounds(rounds, 4);
  expect(choices[0]).toMatchObject({ content: 'Search. It rises. So [cite:99].', reasoning: 'hm hm ', calls: [] });
  expect(completionTokens).toBe(10);
  expect(answerOfRounds(rounds, 2).choices[0]?.content).toContain('[cite:3]');
});

it.each([
  ['length', 'It rises [cite:3', 'It rises'],
  ['length', 'It rises [', 'It rises'],
  ['length', 'It rises ', 'It rises'],
  ['length', 'It rises [cite:3]', 'It rises'],
  ['length', 'It rises [citation', 'It rises [citation'],
  ['stop', 'It rises [cite:3', 'It rises [cite:3'],
])('an answer whose end is %s, after "%s"', (finishReason, content, expected) => {
  const last = round(content, []);
  const said = { ...last.said, finishReason } as ChoiceAnswer;
  expect(answerOfRounds([{ ...last, said }], 4).choices[0]?.content).toBe(expected);
});

it('the prompts of all rounds are billed, each as one of the engines counts it', () => {
  const other = { ...rounds[1]!, promptTokens: new Set([30, 31]) };
  expect(promptSums([rounds[0]!, other])).toEqual(new Set([40, 41]));
});

describe('a conversation that goes on', () => {
  const pages = turn(
    'tool',
    [one, two].flatMap((of) => pagesOf(of).map(({ url, content }) => `${url} ${content}`)).join(' '),
  );
  const asBefore = 'Search. It rises [cite:3]. So [cite:99].';
  const unmarked = 'Search. It rises. So [cite:99].';
  it.each([
    ['what was found and said', [pages, turn('assistant', asBefore)], true, undefined],
    ['another text', [pages, turn('assistant', 'Search.')], true, 'the model had said'],
    ['a text without its marks', [pages, turn('assistant', unmarked)], true, 'the model had said'],
    ['a text without marks, for an answer in JSON', [pages, turn('assistant', unmarked)], false, undefined],
    ['half of the pages', [turn('tool', pages.text.slice(0, 200)), turn('assistant', asBefore)], true, 'does not get'],
  ] as const)('begins with the earlier answer: %s', (_, history, isCited, fault) => {
    const faults = historyFaults([{ ...rounds[1]!, history }], { rounds, answer: answer(good), isCited });
    expect(faults.some((each) => fault === undefined || each.includes(fault))).toBe(fault !== undefined);
  });
});

describe('a later round', () => {
  const said = turn('assistant', 'Search. ', JSON.stringify([search(one), search(two)]));
  const result = (of: string): ChatMessage =>
    turn(
      'tool',
      pagesOf(of)
        .map(({ url, content }) => `${url}\n${content}`)
        .join('\n\n'),
    );
  it.each([
    ['what was said and found', [said, result(one), result(two)], undefined],
    ['a search that failed', [said, result(one), turn('tool', 'Error: unavailable.')], undefined],
    ['no results', [said], '1 turns in place of 3'],
    ['results in another order', [said, result(two), result(one)], 'turn 1 of round 1'],
    ['half of a result', [said, result(one), turn('tool', pagesOf(two)[0]?.url ?? '')], 'turn 2 of round 1'],
    ['other words of the model', [{ ...said, text: 'Sea' }, result(one), result(two)], 'turn 0 of round 1'],
  ] as const)('begins with the earlier ones: %s', (_, turns, fault) => {
    const faults = turnFaults([rounds[0]!, round('It rises.', [], turns)]);
    expect(faults.some((each) => fault === undefined || each.includes(fault))).toBe(fault !== undefined);
  });
});
