/** Inputs of public reports about embeddings, each as small as it shows the fault. docs/lab/reports.md says what held. */
import { describe, expect, it } from 'vitest';
import { begin, bodyOf, expectClean, type Run } from '../../../test/support/pipeline-run.ts';
import { modelOf, routeOf, snapshotOf } from '../../../test/support/route-of.ts';
import type { FakeExchange } from '../../../test/support/fake-exchange.ts';
import type { EmbeddingFacts } from '../../core/catalog.ts';
import type { EngineName } from '../../core/engine-name.ts';

const cat = [0.5, -0.25, 0.125];
const dog = [0.0625, 1, -2];
const bird = [-0.75, 0.375, 4];
const vectors = [cat, dog, bird];

/** Float32, little-endian, as clients read it. */
const base64 = (vector: readonly number[]): string => Buffer.from(Float32Array.from(vector).buffer).toString('base64');

interface Item {
  readonly index?: unknown;
  readonly embedding?: unknown;
}
/** The answer of an engine. */
const answerOf = (data: readonly Item[], more: object = { usage: { prompt_tokens: 9, total_tokens: 9 } }): string =>
  JSON.stringify({
    object: 'list',
    model: 'up/x',
    data: data.map((item) => ({ object: 'embedding', ...item })),
    ...more,
  });
const inOrder = (list: readonly unknown[]): readonly Item[] => list.map((embedding, index) => ({ index, embedding }));
const good = answerOf(inOrder(vectors));

/** A pipeline with a model of vectors on two routes. */
function beginVectors({
  engine = 'vllm',
  ...facts
}: Partial<EmbeddingFacts> & { readonly engine?: EngineName } = {}): Run {
  const run = begin();
  const routes = ['a', 'b'].map((name) => {
    const route = routeOf(name);
    return { ...route, backend: { ...route.backend, engine } };
  });
  const usual = { dimensions: 3, shorterDimensions: [], minSimilarity: 0.999, tokenIds: false };
  run.snapshots.swap(
    snapshotOf([modelOf(routes, { id: 'demo/vectors', kind: 'embedding', embedding: { ...usual, ...facts } })]),
  );
  return run;
}

const send = (run: Run, body: object): FakeExchange =>
  run.send({
    path: '/v1/embeddings',
    body: JSON.stringify({ model: 'demo/vectors', input: ['cat', 'dog', 'bird'], ...body }),
  });

const embeddingsIn = (exchange: FakeExchange): readonly unknown[] =>
  (bodyOf(exchange) as { readonly data: readonly Item[] }).data.map(({ embedding }) => embedding);

const sentIn = (run: Run, at = 0): Readonly<Record<string, unknown>> =>
  JSON.parse(String(run.upstream.calls[at]?.call.body)) as Readonly<Record<string, unknown>>;

/** What a caller gets of one answer. */
async function received(answer: string, body: object = {}, run = beginVectors()): Promise<FakeExchange> {
  const exchange = send(run, body);
  (await run.upstream.called(0)).answer('application/json', answer);
  await exchange.answered;
  return exchange;
}

describe('an answer of an engine', () => {
  it.each([
    ['mudler/LocalAI/pull/9135', answerOf(inOrder(vectors)), vectors.map(base64)],
    ['runpod-workers/worker-infinity-embedding/issues/30', answerOf(inOrder(vectors)), vectors.map(base64)],
    ['sgl-project/sglang/pull/28803', answerOf(inOrder(vectors.map(base64))), vectors.map(base64)],
  ])('is in the encoding that was asked for, as in github.com/%s', async (_, answer, expected) => {
    const exchange = await received(answer, { encoding_format: 'base64' });
    expect(embeddingsIn(exchange)).toEqual(expected);
    expect(embeddingsIn(await received(answer))).toEqual(vectors);
  });

  it.each([
    ['getzep/graphiti/pull/1732', [2, 0, 1]],
    ['pydantic/pydantic-ai/issues/7284', [1, 0, 2]],
  ])('is in the order of the inputs, as in github.com/%s', async (_, order) => {
    const answer = answerOf(order.map((index) => ({ index, embedding: vectors[index] })));
    const exchange = await received(answer);
    expect(embeddingsIn(exchange)).toEqual(vectors);
    expect(bodyOf(exchange)).toMatchObject({ data: [{ index: 0 }, { index: 1 }, { index: 2 }] });
  });

  it.each([
    ['ggml-org/llama.cpp/issues/14812', answerOf(inOrder([cat, dog, [null, null, null]]))],
    ['ggml-org/llama.cpp/issues/13854', good.replace('0.375', 'NaN')],
    ['ggml-org/llama.cpp/issues/899', answerOf(inOrder([cat, [0, 0, 0], bird]))],
    ['ggml-org/llama.cpp/issues/25210', answerOf(inOrder(vectors.map((vector) => [...vector, 1])))],
    ['BaseIntelligence/bounty-challenge/issues/15779', answerOf(inOrder([...vectors, cat]))],
    ['topoteretes/cognee/pull/398', answerOf([])],
    ['cocoindex-io/cocoindex/pull/2381', answerOf([0, 1, 1].map((index) => ({ index, embedding: vectors[index] })))],
    ['cocoindex-io/cocoindex/pull/2381', answerOf(vectors.map((embedding, at) => ({ index: at + 1, embedding })))],
    ['cocoindex-io/cocoindex/pull/2381', answerOf(vectors.map((embedding, at) => ({ index: `${at}`, embedding })))],
    ['apecloud/ApeRAG/issues/716', '{"code":20042,"message":"input batch size 136 > maximum allowed batch size 64"}'],
  ])('that is none makes another endpoint answer, as in github.com/%s', async (_, answer) => {
    const run = beginVectors();
    const exchange = send(run, {});
    (await run.upstream.called(0)).answer('application/json', answer);
    (await run.upstream.called(1)).answer('application/json', good);
    await exchange.answered;
    expect(embeddingsIn(exchange)).toEqual(vectors);
    await expectClean(run, 1);
  });

  it.each([
    ['HarperFast/harper/issues/1882', { usage: { prompt_tokens: 0, total_tokens: 0 } }],
    ['hackclub/ai/pull/133', {}],
    ['gpustack/gpustack/issues/5455', { usage: null }],
  ])('that counts nothing is counted and billed, as in github.com/%s', async (_, more) => {
    const run = beginVectors();
    const exchange = await received(answerOf(inOrder(vectors), more), {}, run);
    const { usage } = bodyOf(exchange) as { readonly usage: Readonly<Record<string, number>> };
    expect(usage['prompt_tokens']).toBeGreaterThan(0);
    expect(usage['total_tokens']).toBe(usage['prompt_tokens']);
    expect(usage['cost']).toBeGreaterThan(0);
    await expectClean(run, 1);
    expect(run.store.outcomes[0]).toMatchObject({
      usage: { promptTokens: usage['prompt_tokens'], completionTokens: 0 },
    });
  });
});

describe('a request of a client', () => {
  it.each([
    ['ogx-ai/ogx/issues/5109', 'vllm'],
    ['BerriAI/litellm/issues/23119', 'openai'],
  ] as const)('for the model’s own length names no length to the engine: github.com/%s', async (_, engine) => {
    const run = beginVectors({ engine });
    await received(good, { dimensions: 3 }, run);
    expect(sentIn(run)).not.toHaveProperty('dimensions');
  });

  it.each([
    ['huggingface/text-embeddings-inference/issues/378', 'tei', 129, [32, 32, 32, 32, 1]],
    ['coze-dev/coze-studio/issues/455', 'tei', 100, [32, 32, 32, 4]],
    ['coze-dev/coze-studio/issues/189', 'dashscope', 25, [10, 10, 5]],
  ] as const)('for more than an engine takes is split: github.com/%s', async (_, engine, inputs, pieces) => {
    const run = beginVectors({ engine });
    const texts = Array.from({ length: inputs }, (_text, at) => `text ${at}`);
    const exchange = send(run, { input: texts });
    for (const [at, piece] of pieces.entries()) {
      const call = await run.upstream.called(at);
      const asked = (JSON.parse(String(call.call.body)) as { readonly input: readonly string[] }).input;
      expect(asked).toHaveLength(piece);
      // A vector tells its text.
      call.answer('application/json', answerOf(inOrder(asked.map((text) => [Number(text.slice(5)) + 1, 0, 0]))));
    }
    await exchange.answered;
    expect(embeddingsIn(exchange)).toEqual(texts.map((_text, at) => [at + 1, 0, 0]));
    expect(bodyOf(exchange)).toMatchObject({ usage: { prompt_tokens: 9 * pieces.length } });
    await expectClean(run, 1);
  });

  it.each([
    ['openai/openai-python/issues/576', { input: ['a', 'b', '', 'd'] }, 'input[2]'],
    ['openclaw/openclaw/pull/117615', { input: '' }, 'input'],
    ['openclaw/openclaw/pull/117615', { input: [] }, 'input'],
    ['openclaw/openclaw/pull/117615', { input: ['valid', ''] }, 'input[1]'],
    ['sgl-project/sglang/pull/28803', { encoding_format: 'hex' }, 'encoding_format'],
    ['BerriAI/litellm/issues/11940', { dimensions: 1024 }, 'dimensions'],
    ['langchain-ai/langchain/issues/30574', { input: [[15339, 1917]] }, 'check_embedding_ctx_length'],
    ['huggingface/text-embeddings-inference/issues/273', { input: [15339, 1917] }, 'check_embedding_ctx_length'],
  ])('that no engine answers is refused by name: github.com/%s', async (_, body, named) => {
    const run = beginVectors();
    const exchange = send(run, body);
    await exchange.answered;
    expect(exchange.status()).toBe(400);
    expect(bodyOf(exchange)).toMatchObject({
      error: { type: 'invalid_request_error', message: expect.stringContaining(named) },
    });
    expect(run.upstream.calls).toHaveLength(0);
  });

  it('of white space alone is served: github.com/Azure-Samples/azure-search-openai-demo/issues/1134', async () => {
    const run = beginVectors();
    const exchange = await received(answerOf(inOrder([cat, dog])), { input: ['a', ' '] }, run);
    expect(embeddingsIn(exchange)).toEqual([cat, dog]);
    expect(sentIn(run)['input']).toEqual(['a', ' ']);
  });

  it.each([
    ['michaelfeil/infinity/issues/98', 'infinity'],
    ['theroyallab/tabbyAPI/issues/245', 'openai'],
  ] as const)('with one text reaches an engine that takes only lists: github.com/%s', async (_, engine) => {
    const run = beginVectors({ engine });
    const exchange = await received(answerOf(inOrder([cat])), { input: 'cat' }, run);
    expect(sentIn(run)['input']).toEqual(['cat']);
    expect(embeddingsIn(exchange)).toEqual([cat]);
  });

  it.each([
    ['openclaw/openclaw/pull/27764', 'half of a \ud83d smile', 'half of a \ufffd smile'],
    ['MemTensor/MemOS/pull/1048', 'Hello 👋 🔥', 'Hello 👋 🔥'],
  ])('with such letters has text that every engine reads: github.com/%s', async (_, text, read) => {
    const run = beginVectors();
    const exchange = await received(answerOf(inOrder([cat])), { input: [text] }, run);
    expect(sentIn(run)['input']).toEqual([read]);
    expect(embeddingsIn(exchange)).toEqual([cat]);
  });
});
