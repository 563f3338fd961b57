import { expect, it } from 'vitest';
import type { Bill } from '../../../core/money.ts';
import { parseUsd } from '../../../core/money.ts';
import type { Task } from '../../../core/request.ts';
import { createJsonWriter } from './write-response.ts';

const bill: Bill = {
  usage: { promptTokens: 42, completionTokens: 0 },
  cost: parseUsd('0.000021') ?? expect.fail('no cost'),
  countedBy: 'engine',
} as Bill;

function answer(task: Partial<Extract<Task, { readonly kind: 'rerank' }>>, pieces: readonly (readonly number[])[]) {
  const documents = pieces.flat().length;
  const writer = createJsonWriter(
    { id: 'rerank-1', created: 1, model: 'demo/rerank' },
    { task: { kind: 'rerank', documents, queryBytes: 1, ...task } },
  );
  let first = 0;
  for (const scores of pieces) {
    writer.push([{ type: 'ranks', choice: 0, first, scores }]);
    first += scores.length;
  }
  return JSON.parse(writer.finish(bill)) as { readonly results: readonly { readonly index: number }[] };
}

it('sorts the documents of all pieces by score, and equal ones by their place', () => {
  const { results } = answer({}, [[0.2, 0.9], [0.9, 1e-7], [0.95]]);
  expect(results.map(({ index }) => index)).toEqual([4, 1, 2, 0, 3]);
  expect(results[4]).toEqual({ index: 3, relevance_score: 1e-7 });
});

it('cuts the list when all pieces are there', () => {
  expect(answer({ topN: 2 }, [[0.2, 0.1], [0.3]]).results.map(({ index }) => index)).toEqual([2, 0]);
  expect(answer({ topN: 10 }, [[0.2, 0.1]]).results).toHaveLength(2);
});

it('returns the documents as they were sent', () => {
  const returned = ['{"text":"a \\" quote"}', '{"id":7,"text":"b"}'];
  expect(answer({ returned }, [[0.1, 0.2]]).results).toEqual([
    { index: 1, relevance_score: 0.2, document: { id: 7, text: 'b' } },
    { index: 0, relevance_score: 0.1, document: { text: 'a " quote' } },
  ]);
});

it('writes large documents piece by piece, to the same answer', () => {
  const returned = Array.from({ length: 50 }, (_, at) => JSON.stringify({ text: `${at} `.repeat(10_000) }));
  const task = { kind: 'rerank', documents: 50, queryBytes: 1, returned } as const;
  const writer = createJsonWriter({ id: 'rerank-1', created: 1, model: 'demo/rerank' }, { task });
  writer.push([{ type: 'ranks', choice: 0, first: 0, scores: returned.map((_, at) => at / 50) }]);
  const pieces = [...(writer.pieces?.(bill) ?? expect.fail('one piece'))];
  expect(pieces.length).toBeGreaterThan(5);
  expect(pieces.join('')).toBe(writer.finish(bill));
  const cut = createJsonWriter({ id: 'rerank-1', created: 1, model: 'demo/rerank' }, { task: { ...task, topN: 1 } });
  cut.push([{ type: 'ranks', choice: 0, first: 0, scores: returned.map((_, at) => at / 50) }]);
  expect(cut.pieces?.(bill)).toBeUndefined();
});

it('has id, model, usage and cost, and the count where clients of Cohere look for it', () => {
  expect(answer({}, [[0.5]])).toEqual({
    id: 'rerank-1',
    model: 'demo/rerank',
    results: [{ index: 0, relevance_score: 0.5 }],
    usage: { prompt_tokens: 42, total_tokens: 42, cost: 0.000021 },
    meta: { tokens: { input_tokens: 42 } },
  });
});
