import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { forFile } from '../support/for-file.ts';
import { startLlama } from '../support/llama.ts';
import {
  decoded,
  type EmbeddingsBody,
  postJson,
  type RanksBody,
  retrievalBackend,
  retrievalModel,
  sigmoid,
  vectorsIn,
} from '../support/retrieval-catalog.ts';
import { startWeir } from '../support/weir.ts';

// Vectors and ranks of a real llama-server: what callers get is what the engine says, to the last bit.

// With several slots, vectors of texts of unequal length in one call are wrong: github.com/ggml-org/llama.cpp/issues/26282.
const batch = '512';
const [embedder, reranker] = await Promise.all([
  forFile(startLlama({ parallel: 1, extra: ['--embeddings', '--pooling', 'mean', '-b', batch, '-ub', batch] })),
  forFile(startLlama({ parallel: 1, extra: ['--reranking'] })),
]);
const model = (id: string, contextLength: number, facts: string): string =>
  retrievalModel(id, 'Embedding', { backends: ['vectors'], upstreamModel: 'tiny', contextLength, facts });
const weir = await forFile(
  startWeir({
    unlimited: true,
    env: { WEIR_TOKENIZERS: join(import.meta.dirname, 'tokenizers') },
    manifests: {
      'catalog.yaml': [
        retrievalBackend('vectors', 'llamacpp', embedder),
        retrievalBackend('ranks', 'llamacpp', reranker),
        model('test/vectors', 1024, 'embedding: {dimensions: 64}\n  tokenizer: {path: tiny}'),
        // Its operator forgot what `--ubatch-size` is.
        model('test/beyond', 4096, 'embedding: {dimensions: 64}'),
        model('test/wrong', 1024, 'embedding: {dimensions: 32}'),
        retrievalModel('test/ranks', 'Rerank', {
          ...{ backends: ['ranks'], upstreamModel: 'tiny', contextLength: 1024, facts: '' },
        }),
        model('test/pieces', 1024, 'embedding: {dimensions: 64, maxInputs: 7}'),
      ].join(''),
    },
    secrets: ['llama', 'gguf'],
  }),
);

const inputs = ['the tide comes in', 'Größe 日本語 مرحبا 👩‍👩‍👧 e\u0301', '  two  spaces\n\n\tand\r\nlines   ', 'x'];
const ours = (body: object, id = 'test/vectors'): ReturnType<typeof postJson> =>
  postJson(`${weir.baseUrl}/embeddings`, { model: id, ...body }, weir);
const theirs = async (body: object): Promise<EmbeddingsBody> =>
  (await postJson(`${embedder.url}/v1/embeddings`, body)).body as EmbeddingsBody;

describe('vectors', () => {
  it.each(['float', 'base64'] as const)('are those of the engine, bit for bit, as %s', async (encoding_format) => {
    const engine = await theirs({ input: inputs, encoding_format });
    const answer = await ours({ input: inputs, encoding_format });
    expect(answer.status).toBe(200);
    const body = answer.body as EmbeddingsBody;
    expect(body).toMatchObject({ object: 'list', model: 'test/vectors', data: inputs.map((_, index) => ({ index })) });
    expect(vectorsIn(body)).toEqual(vectorsIn(engine));
    expect(body.usage).toEqual({ ...engine.usage, cost: expect.closeTo(engine.usage.prompt_tokens / 1e6, 12) });
  });

  it('have the same values in both encodings', async () => {
    const [floats, base64] = await Promise.all(
      ['float', 'base64'].map(async (encoding_format) => (await ours({ input: inputs, encoding_format })).body),
    );
    // The engine prints more digits than a float32 has.
    const rounded = vectorsIn(floats as EmbeddingsBody).map((vector) => decoded(vector).map(Math.fround));
    expect(vectorsIn(base64 as EmbeddingsBody).map(decoded)).toEqual(rounded);
  });

  it('reach the official client, which asks for base64', async () => {
    const engine = await theirs({ input: inputs, encoding_format: 'base64' });
    const { data } = await weir.client().embeddings.create({ model: 'test/vectors', input: inputs });
    expect(data.map(({ embedding }) => embedding)).toEqual(vectorsIn(engine).map(decoded));
  });

  it('of many inputs come in pieces, in order, with one bill', async () => {
    const many = Array.from({ length: 100 }, (_, at) => `the tide number ${at} of the others`);
    const [engine, answer] = await Promise.all([theirs({ input: many }), ours({ input: many }, 'test/pieces')]);
    expect(answer.status).toBe(200);
    const body = answer.body as EmbeddingsBody;
    expect(body.data.map(({ index }) => index)).toEqual(many.map((_, at) => at));
    // Beside other texts, the last bits of a vector may differ.
    for (const [at, vector] of vectorsIn(engine).entries()) {
      const got = decoded(body.data[at]?.embedding ?? []);
      expect(Math.max(...decoded(vector).map((value, place) => Math.abs(value - (got[place] ?? 1))))).toBeLessThan(
        1e-5,
      );
    }
    expect(body.usage.prompt_tokens).toBe(engine.usage.prompt_tokens);
    const rows = (await weir.ledger()).filter((row) => row['model'] === 'test/pieces');
    expect(rows).toMatchObject([{ prompt_tokens: body.usage.prompt_tokens, outcome: 'completed' }]);
  });
});

describe('an input that is too long', () => {
  const long = 'the tide '.repeat(2000);

  it('is refused before the engine sees it, by the counter of the window', async () => {
    expect(await ours({ input: ['a', long] })).toMatchObject({
      status: 400,
      body: { error: { code: 'context_length_exceeded', message: expect.stringContaining('input[1]') } },
    });
  });

  it('for the physical batch alone is a fault of the engine, and the log names it', async () => {
    const answer = await ours({ input: 'the tide '.repeat(200) }, 'test/beyond');
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(answer.text).not.toContain('batch');
  });
});

it('vectors of another length than the Model declares are served to nobody', async () => {
  const answer = await ours({ input: 'a' }, 'test/wrong');
  expect(answer.status).toBeGreaterThanOrEqual(500);
  expect(answer.text).not.toContain('embedding"');
});

it('ranks have the order of the engine, whose raw scores come between 0 and 1', async () => {
  const [query, documents] = ['the tide', ['the tide comes in', 'x', 'a weir in a river', 'Größe 日本語', 'the moon']];
  const engine = await postJson(`${reranker.url}/v1/rerank`, { query, documents });
  const theirs = engine.body as RanksBody;
  expect(theirs.results.some(({ relevance_score: score }) => score < 0 || score > 1)).toBe(true);
  const answer = await postJson(`${weir.baseUrl}/rerank`, { model: 'test/ranks', query, documents }, weir);
  expect(answer.status).toBe(200);
  const { results, usage } = answer.body as RanksBody;
  expect(results.map(({ index }) => index)).toEqual(theirs.results.map(({ index }) => index));
  for (const [at, { relevance_score: score }] of results.entries())
    expect(score).toBeCloseTo(sigmoid(theirs.results[at]?.relevance_score ?? Number.NaN), 12);
  expect(usage.prompt_tokens).toBe(theirs.usage.prompt_tokens);
});
