import { describe, expect, it } from 'vitest';
import type { ScoreScale } from '../../../core/capability.ts';
import { readRanksAs } from './read-ranks.ts';

const asked = { first: 0, documents: 3, scale: 'Probability' } as const;
const rank = (index: unknown, score: unknown) => ({ index, relevance_score: score });
const good = [rank(2, 0.9), rank(0, 0.5), rank(1, 0.1)];

const encoder = new TextEncoder();

/** The events of an answer, or its fault. The same wherever its bytes are cut. */
function readRanks(answer: unknown, options: Parameters<typeof readRanksAs>[1]) {
  const bytes = encoder.encode(JSON.stringify(answer));
  const [first, ...others] = [0, 1, 7, bytes.length >> 1, bytes.length].map((at) => {
    const reader = readRanksAs('application/json; charset=utf-8', options) ?? expect.fail('no reader');
    for (const piece of [bytes.subarray(0, at), bytes.subarray(at)])
      expect(reader.push(piece)).toEqual({ events: [], state: 'open' });
    const { events, state } = reader.end();
    return typeof state === 'string' ? events : state;
  });
  for (const other of others) expect(other).toEqual(first);
  return first ?? expect.fail('nothing was read');
}

const scoresIn = (answer: unknown, scale: ScoreScale = 'Probability') => {
  const read = readRanks(answer, { ...asked, scale });
  const [ranks] = 'kind' in read ? expect.fail(read.detail) : read;
  return ranks?.type === 'ranks' ? ranks.scores : undefined;
};

describe('the scores of an answer', () => {
  it.each([
    ['Cohere', { id: 'x', results: good, meta: { api_version: { version: '2' } } }],
    [
      'Jina and vLLM, which return the documents',
      { results: good.map((result) => ({ ...result, document: { text: 'a' } })), usage: { total_tokens: 9 } },
    ],
    ['llama-server, older versions of which do not sort', { object: 'list', results: [good[1], good[2], good[0]] }],
    ['Voyage', { object: 'list', data: good }],
    [
      'text-embeddings-inference',
      [
        { index: 2, score: 0.9 },
        { index: 0, score: 0.5 },
        { index: 1, score: 0.1 },
      ],
    ],
    [
      'SGLang',
      good.map(({ index, relevance_score: score }) => ({ score, document: 'a', index, meta_info: { id: 'y' } })),
    ],
  ])('are read from the form of %s', (_, answer) => {
    expect(scoresIn(answer)).toEqual([0.5, 0.1, 0.9]);
  });

  it('come with the place of their piece, and end the answer', () => {
    expect(readRanks({ results: good, usage: { prompt_tokens: 12 } }, { ...asked, first: 32 })).toEqual([
      { type: 'ranks', choice: 0, first: 32, scores: [0.5, 0.1, 0.9] },
      { type: 'usage', usage: { promptTokens: 12, completionTokens: 0 } },
      { type: 'finish', choice: 0, reason: 'stop' },
    ]);
  });

  const results = (...scores: readonly number[]) => scores.map((score, index) => rank(index, score));

  it('are made from logits by one sigmoid, also where all of them lie between 0 and 1', () => {
    const [low = 0, middle = 0, high = 0] = scoresIn(results(-11.02, 0, 7.74), 'Logit') ?? [];
    expect(low).toBeCloseTo(1.6e-5, 6);
    expect(middle).toBe(0.5);
    expect(high).toBeCloseTo(0.999565, 5);
    expect(scoresIn(results(0, 0.5, 1), 'Logit')?.map((score) => score.toFixed(3))).toEqual([
      '0.500',
      '0.622',
      '0.731',
    ]);
    expect(scoresIn(results(-1e4, -800, 1e4), 'Logit')).toEqual([0, 0, 1]);
  });

  it('are left as they are where the engine sends probabilities, however small', () => {
    expect(scoresIn(results(8.463939e-6, 0, 1))).toEqual([8.463939e-6, 0, 1]);
  });

  it('are made from cosines', () => {
    expect(scoresIn(results(-1, 0.5, 1.000_000_2), 'Cosine')).toEqual([0, 0.75, 1]);
  });
});

describe('an answer that ranks something else', () => {
  it.each([
    ['with fewer documents: the engine cut it at a number of its own', good.slice(0, 2), '2 results for 3 documents'],
    ['with more documents', [...good, rank(3, 0.2)], '4 results for 3 documents'],
    ['with a document twice', [good[0], good[0], good[1]], 'two results for a document'],
    ['with an index that is no place', [good[0], good[1], rank(3, 0.1)], 'index of a document'],
    ['with an index below zero', [good[0], good[1], rank(-1, 0.1)], 'index of a document'],
    ['with a broken index', [good[0], good[1], rank(1.5, 0.1)], 'index of a document'],
    ['without an index', [good[0], good[1], { relevance_score: 1 }], 'index of a document'],
    ['with null for a score', [good[0], good[1], rank(1, null)], 'without a score'],
    ['with a score that is no number', [good[0], good[1], rank(1, 'NaN')], 'without a score'],
    ['with null for a result', [good[0], good[1], null], 'index of a document'],
  ])('%s fails', (_, results, detail) => {
    expect(readRanks({ results }, asked)).toMatchObject({
      kind: 'malformed',
      detail: expect.stringContaining(detail) as string,
    });
  });

  it.each([
    ['Probability', 7.74],
    ['Probability', -0.2],
    ['Cosine', 1.5],
  ] as const)('with a score that the scale %s does not have fails whole, and says where to look', (scale, score) => {
    const read = readRanks({ results: [good[0], good[1], rank(1, score)] }, { ...asked, scale });
    expect(read).toMatchObject({
      kind: 'malformed',
      detail: expect.stringContaining('capabilities.rerankScores') as string,
    });
  });

  it.each([
    ['no list', { results: {} }, { kind: 'malformed' }],
    ['a text', 'ok', { kind: 'malformed' }],
    ['null', null, { kind: 'malformed' }],
    ['vectors', { data: [{ index: 0, embedding: [0.1] }] }, { kind: 'malformed' }],
    ['an error', { error: { message: 'no', code: 500 } }, { kind: 'engine-error' }],
  ])('or is %s fails', (_, answer, fault) => {
    expect(readRanks(answer, asked)).toMatchObject(fault);
  });
});

describe('the bytes of an answer', () => {
  const read = (text: string) => {
    const reader = readRanksAs('application/json', asked) ?? expect.fail('no reader');
    const { state } = reader.push(encoder.encode(text));
    return state === 'open' ? reader.end().state : state;
  };

  it.each(['NaN', 'Infinity', '-Infinity', '1e999'])('with the score %s are no answer', (score) => {
    const text = JSON.stringify({ results: good }).replace('0.9', score);
    expect(read(text)).toMatchObject({ kind: 'malformed' });
  });

  it('may repeat long documents, which are not kept', () => {
    const results = good.map((result) => ({ document: { text: 'a "word" \u00e9 '.repeat(300_000) }, ...result }));
    expect(read(JSON.stringify({ results }))).toBe('complete');
  });

  it('are refused where they are too many without documents', () => {
    expect(read(`{"results":[${'1,'.repeat(2_000_000)}`)).toMatchObject({ kind: 'too-large' });
  });

  it.each([
    ['application/json', true],
    ['Application/JSON;charset=utf-8', true],
    ['application/problem+json', true],
    ['text/event-stream', false],
    ['text/html', false],
    ['', false],
  ])('of the type "%s" can be an answer: %s', (type, can) => {
    expect(readRanksAs(type, asked) !== undefined).toBe(can);
  });
});

describe('the count of an answer', () => {
  it.each([
    ['vLLM, old', { results: good, usage: { total_tokens: 9 } }, 9],
    ['Jina', { results: good, usage: { prompt_tokens: 8, total_tokens: 9 } }, 8],
    ['Cohere', { results: good, meta: { tokens: { input_tokens: 7 } } }, 7],
    ['SGLang', good.map((result) => ({ ...result, meta_info: { prompt_tokens: 5 } })), 15],
    [
      'SGLang without a count of one of them',
      good.map((result, at) => ({ ...result, meta_info: at === 0 ? {} : { prompt_tokens: 5 } })),
      undefined,
    ],
    ['an engine that reports none', { results: good }, undefined],
  ])('of %s', (_, answer, promptTokens) => {
    const read = readRanks(answer, asked);
    const usage = 'kind' in read ? undefined : read.find((event) => event.type === 'usage');
    expect(usage?.usage.promptTokens).toBe(promptTokens);
  });

  it('comes from a header where the engine reports it there', () => {
    const read = readRanks([...good], { ...asked, tokens: 21 });
    expect(read).toContainEqual({ type: 'usage', usage: { promptTokens: 21, completionTokens: 0 } });
  });
});
