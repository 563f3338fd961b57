/** Inputs of public reports about ranks, each as small as it shows the fault. docs/lab/reports.md says what held. */
import { expect, it } from 'vitest';
import { begin, bodyOf, expectClean, type Run } from '../../../test/support/pipeline-run.ts';
import { modelOf, routeOf } from '../../../test/support/route-of.ts';
import type { CapabilityOverrides } from '../../core/catalog.ts';
import type { EngineName } from '../../core/engine-name.ts';

/** A pipeline with a model of ranks on one engine. */
function beginRanks(engine: EngineName, capabilities: CapabilityOverrides = {}): Run {
  const route = routeOf('a', { capabilities });
  const routes = [{ ...route, backend: { ...route.backend, engine } }];
  return begin({ models: [modelOf(routes, { id: 'demo/ranks', kind: 'rerank' })] });
}

interface Results {
  readonly results: readonly { readonly index: number; readonly relevance_score: number; readonly document?: object }[];
}

/** What a caller gets of an engine's scores. */
async function ranked(run: Run, scores: readonly number[], more: object = {}): Promise<Results['results']> {
  const documents = scores.map((_, index) => `document ${index}`);
  const exchange = run.send({
    path: '/v1/rerank',
    body: JSON.stringify({ model: 'demo/ranks', query: 'q', documents, ...more }),
  });
  const results = scores.map((score, index) => ({ index, relevance_score: score }));
  (await run.upstream.called(0)).answer('application/json', JSON.stringify({ results, usage: { prompt_tokens: 5 } }));
  await exchange.answered;
  expect(exchange.status()).toBe(200);
  await expectClean(run, 1);
  return (bodyOf(exchange) as Results).results;
}

it('github.com/Tencent/WeKnora/pull/2496: raw scores far above 1 stay apart', async () => {
  const scores = (await ranked(beginRanks('llamacpp'), [5, 23, 2, -23])).map(({ relevance_score: score }) => score);
  expect(new Set(scores).size).toBe(4);
  expect(scores).toEqual([23, 5, 2, -23].map((raw) => expect.closeTo(1 / (1 + Math.exp(-raw)), 12)));
  expect(Math.max(...scores)).toBeLessThan(1);
});

it('github.com/mem0ai/mem0/pull/5715: one document has the score that it has among others', async () => {
  const [alone] = await ranked(beginRanks('llamacpp'), [1.5]);
  const [among] = await ranked(beginRanks('llamacpp'), [1.5, -3]);
  expect(alone?.relevance_score).toBe(among?.relevance_score);
});

it('github.com/vectorize-io/hindsight/issues/1727: scores that are between 0 and 1 already stay as they are', async () => {
  const scores = [0.934695303440094, 0.005602922290563583];
  for (const run of [beginRanks('vllm'), beginRanks('llamacpp', { rerankScores: 'Probability' })])
    expect((await ranked(run, scores)).map(({ relevance_score: score }) => score)).toEqual(scores);
});

it('github.com/mudler/LocalAI/issues/6700: an engine that ignores top_n is cut', async () => {
  const results = await ranked(beginRanks('vllm'), [0.1, 0.9, 0.5], { top_n: 1 });
  expect(results).toEqual([{ index: 1, relevance_score: 0.9 }]);
});

it('github.com/xorbitsai/inference/issues/2566: documents come back where they were asked for, whoever ranks', async () => {
  const [first] = await ranked(beginRanks('vllm'), [0.1, 0.9], { return_documents: true });
  expect(first).toEqual({ index: 1, relevance_score: 0.9, document: { text: 'document 1' } });
});
