// @suite long
import { cpSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { startProgrammableEngine } from '../programmable-engine/engine.ts';
import { rawScoreOf, unitScoreOf } from '../programmable-engine/rerank-endpoint.ts';
import { vectorOf } from '../programmable-engine/vectors.ts';
import { countTokens } from '../programmable-engine/tokens.ts';
import { forFile } from '../support/for-file.ts';
import { retrievalBackend, retrievalModel } from '../support/retrieval-catalog.ts';
import { startWeir } from '../support/weir.ts';
import { installPinned, installRequirements } from './install.ts';
import { makeFolders, removeFolders, runClient, seatAt } from './stage.ts';

// What clients make of vectors and ranks, each with the settings that it has by itself.

afterAll(() => removeFolders());
const [{ npm }, python] = await Promise.all([
  installPinned(),
  installRequirements('retrieval', join(import.meta.dirname, 'python', 'retrieval.txt')),
]);
const engine = await forFile(startProgrammableEngine({ name: 'alpha', models: ['demo-vectors', 'demo-ranks'] }));
const weir = await forFile(
  startWeir({
    ...{ engines: [engine], unlimited: true },
    manifests: {
      'catalog.yaml': [
        retrievalBackend('backend-of-test-0', 'vllm', engine),
        retrievalModel('test/vectors', 'Embedding', {
          ...{ backends: ['backend-of-test-0'], upstreamModel: 'demo-vectors', contextLength: 8192 },
          facts: 'embedding: {dimensions: 64, shorterDimensions: [16]}',
        }),
        retrievalModel('test/ranks', 'Rerank', {
          ...{ backends: ['backend-of-test-0'], upstreamModel: 'demo-ranks', contextLength: 8192, facts: '' },
        }),
      ].join(''),
    },
    secrets: ['demo-vectors', 'demo-ranks'],
  }),
);

const inputs = ['A weir is a low barrier.', 'Größe 日本語 👩‍👩‍👧', 'It lets the water pass over the top.'];
const query = 'Where does the water pass?';
const vectors = inputs.map((text) => [...vectorOf(text)]);

/** Runs one of programs/ and resolves with the JSON that it prints. */
async function said(model: string, library: string, program = 'embeddings.py'): Promise<unknown> {
  const isNode = program.endsWith('.mjs');
  const seat = seatAt(weir, { place: makeFolders(), model, installed: isNode ? npm : python });
  cpSync(join(import.meta.dirname, 'programs'), seat.work, { recursive: true });
  if (isNode) symlinkSync(join(npm, 'node_modules'), join(seat.work, 'node_modules'));
  const command = isNode ? [process.execPath, program] : [join(python, 'bin', 'python'), program, library];
  const env = { WEIR_ORIGIN: seat.origin, WEIR_KEY: seat.key, WEIR_MODEL: model };
  const texts = { WEIR_INPUTS: JSON.stringify(inputs), WEIR_QUERY: query };
  const { code, stdout, stderr } = await runClient(weir, { command, env: { ...env, ...texts } }, seat);
  if (code !== 0) throw new Error(`${library} ended with ${code}: ${stderr}${stdout}`);
  return JSON.parse(stdout.split('\n').findLast((line) => line.startsWith('{')) ?? '');
}

const tokens = inputs.reduce((sum, text) => sum + countTokens(text), 0);
const official = {
  ...{ vectors, floats: vectors, one: vectors[0], shorter: inputs.map((text) => [...vectorOf(text, {}, 16)]) },
  ...{ id: 'test/vectors', usage: { prompt_tokens: tokens, total_tokens: tokens, cost: expect.any(Number) } },
};

test.each([
  ['openai (pypi)', 'embeddings.py'],
  ['openai (npm)', 'embeddings.mjs'],
])('%s gets the vectors with its defaults, shorter ones, and the cost', async (_, program) => {
  expect(await said('test/vectors', 'openai', program)).toEqual(official);
  const asked = engine.requests().map(({ body }) => (body as { readonly encoding_format?: string }).encoding_format);
  expect(asked).toContain('base64');
});

test('langchain-openai is told what to switch off, and gets the vectors then', async () => {
  const answer = await said('test/vectors', 'langchain-openai');
  expect(answer).toEqual({
    refused: { error: 'BadRequestError', message: expect.stringContaining('check_embedding_ctx_length=False') },
    vectors,
  });
});

test('LlamaIndex gets the vectors with its defaults', async () => {
  const answer = await said('test/vectors', 'llama-index-embeddings-openai-like');
  // It replaces line breaks by spaces, of which there are none here.
  expect(answer).toEqual({ vectors, query: vectors[0], official: vectors });
});

test("Cohere's client gets the ranks, with both of its paths", async () => {
  const ranks = inputs
    .map((text, index) => ({ index, relevance_score: unitScoreOf(rawScoreOf(query, text)) }))
    .toSorted((one, other) => other.relevance_score - one.relevance_score);
  expect(await said('test/ranks', 'cohere')).toEqual({ first: ranks.slice(0, 2), second: ranks });
});
