/** Vectors and ranks of a real vLLM, through the whole gateway: what callers get is what the engine says, to the last bit. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { forFile } from '../support/for-file.ts';
import {
  decoded,
  type EmbeddingsBody,
  postJson,
  type RanksBody,
  retrievalBackend,
  retrievalModel,
  vectorsIn,
} from '../support/retrieval-catalog.ts';
import { makeEncoder, startVllm } from '../support/vllm.ts';
import { startWeir } from '../support/weir.ts';

const folder = mkdtempSync(join(tmpdir(), 'weir-encoders-'));
afterAll(() => rmSync(folder, { recursive: true }));

async function startEncoder(kind: 'vectors' | 'ranks'): ReturnType<typeof startVllm> {
  const model = join(folder, kind);
  await makeEncoder(model, kind);
  const extra = ['--runner', 'pooling', '--dtype', 'float32'];
  return startVllm({ model, contextLength, toolParser: 'none', reasoningParser: 'none', extra });
}

const contextLength = 512;
// One after the other: each loads for half a minute on both cores.
const embedder = await forFile(startEncoder('vectors'));
const reranker = await forFile(startEncoder('ranks'));
const catalog = [
  retrievalBackend('vectors', 'vllm', embedder),
  retrievalBackend('ranks', 'vllm', reranker),
  retrievalModel('test/vectors', 'Embedding', {
    ...{ backends: ['vectors'], upstreamModel: 'tiny', contextLength },
    facts: 'embedding: {dimensions: 64, tokenIds: true}',
  }),
  retrievalModel('test/pieces', 'Embedding', {
    ...{ backends: ['vectors'], upstreamModel: 'tiny', contextLength },
    facts: 'embedding: {dimensions: 64, maxInputs: 8}',
  }),
  retrievalModel('test/ranks', 'Rerank', {
    ...{ backends: ['ranks'], upstreamModel: 'tiny', contextLength, facts: '' },
  }),
].join('');
const weir = await forFile(
  startWeir({
    unlimited: true,
    manifests: { 'catalog.yaml': catalog },
    secrets: ['multi_modal', 'prompt_tokens_details'],
  }),
);

const inputs = ['the tide comes in', 'Größe 日本語 👩‍👩‍👧', '  two  spaces\n\n\tand\r\nlines   ', 'x'];
const ours = (body: object, id = 'test/vectors'): ReturnType<typeof postJson> =>
  postJson(`${weir.baseUrl}/embeddings`, { model: id, ...body }, weir);
const theirs = async (body: object): Promise<EmbeddingsBody> =>
  (await postJson(`${embedder.url}/v1/embeddings`, { model: 'tiny', ...body })).body as EmbeddingsBody;

describe('vectors', () => {
  it.each(['float', 'base64'] as const)('are those of the engine, bit for bit, as %s', async (encoding_format) => {
    const engine = await theirs({ input: inputs, encoding_format });
    const answer = await ours({ input: inputs, encoding_format });
    expect(answer.status).toBe(200);
    const body = answer.body as EmbeddingsBody;
    expect(vectorsIn(body)).toEqual(vectorsIn(engine));
    expect(body.usage).toEqual({
      ...{ prompt_tokens: engine.usage.prompt_tokens, total_tokens: engine.usage.total_tokens },
      cost: expect.closeTo(engine.usage.prompt_tokens / 1e6, 12),
    });
  });

  it('of token ids are those of the engine', async () => {
    const input = [[72, 105, 5], [6]];
    const answer = await ours({ input, encoding_format: 'base64' });
    expect(vectorsIn(answer.body as EmbeddingsBody)).toEqual(
      vectorsIn(await theirs({ input, encoding_format: 'base64' })),
    );
    expect((answer.body as EmbeddingsBody).usage.prompt_tokens).toBe(4);
  });

  it('of their own length are not asked for by length, which vLLM refuses', async () => {
    expect(await theirs({ input: 'a', dimensions: 64 })).toMatchObject({ error: { code: 400 } });
    const { data } = await weir.client().embeddings.create({ model: 'test/vectors', input: inputs, dimensions: 64 });
    const engine = await theirs({ input: inputs, encoding_format: 'base64' });
    expect(data.map(({ embedding }) => embedding)).toEqual(vectorsIn(engine).map(decoded));
    expect(await ours({ input: 'a', dimensions: 32 })).toMatchObject({
      status: 400,
      body: { error: { type: 'invalid_request_error', message: expect.stringContaining('dimensions') } },
    });
  });

  it('of many inputs come in pieces, in order, with one bill', async () => {
    const many = Array.from({ length: 50 }, (_, at) => `tide ${at}`);
    const [engine, answer] = await Promise.all([theirs({ input: many }), ours({ input: many }, 'test/pieces')]);
    const body = answer.body as EmbeddingsBody;
    expect(body.data.map(({ index }) => index)).toEqual(many.map((_, at) => at));
    // A text alone or beside others differs in the last bits.
    for (const [at, vector] of vectorsIn(engine).entries()) {
      const got = decoded(body.data[at]?.embedding ?? []);
      expect(Math.max(...decoded(vector).map((value, place) => Math.abs(value - (got[place] ?? 1))))).toBeLessThan(
        1e-5,
      );
    }
    expect(body.usage.prompt_tokens).toBe(engine.usage.prompt_tokens);
  });

  it('of an input beyond the window are refused', async () => {
    expect(await ours({ input: ['a', 'x'.repeat(600)] })).toMatchObject({
      status: 400,
      body: { error: { code: 'context_length_exceeded' } },
    });
  });
});

describe('ranks', () => {
  const query = 'the tide';
  const documents = ['the tide comes in', 'x', 'a weir in a river', 'Größe 日本語', 'the moon'];
  const rank = (body: object): ReturnType<typeof postJson> =>
    postJson(`${weir.baseUrl}/rerank`, { model: 'test/ranks', query, documents, ...body }, weir);

  it('have the order and the scores of the engine, and its tokens', async () => {
    const engine = await postJson(`${reranker.url}/v1/rerank`, { model: 'tiny', query, documents });
    const theirs = engine.body as RanksBody;
    const answer = await rank({});
    expect(answer.status).toBe(200);
    const { results, usage } = answer.body as RanksBody;
    expect(results).toEqual(theirs.results.map(({ index, relevance_score }) => ({ index, relevance_score })));
    expect(usage).toMatchObject({ prompt_tokens: theirs.usage.prompt_tokens });
    expect((await rank({ top_n: 2 })).body).toMatchObject({ results: results.slice(0, 2) });
    expect((await rank({ documents: documents.map((text) => ({ text })) })).body).toMatchObject({ results });
  });

  it('of a document beyond the window are refused', async () => {
    expect(await rank({ documents: ['a', 'x'.repeat(600)] })).toMatchObject({
      status: 400,
      body: { error: { code: 'context_length_exceeded' } },
    });
  });
});
