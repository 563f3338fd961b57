/** Rerank through the whole gateway: the path comes with a model, documents are ranked in pieces on one route, and the books agree. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { countTokens } from '../programmable-engine/tokens.ts';
import { startProgrammableEngine } from '../programmable-engine/engine.ts';
import { rawScoreOf, unitScoreOf } from '../programmable-engine/rerank-endpoint.ts';
import { forFile } from '../support/for-file.ts';
import { untilHolds } from '../support/until-holds.ts';
import { backendManifest, canary, modelManifest, startWeir } from '../support/weir.ts';

const start = (name: string) => forFile(startProgrammableEngine({ name, models: ['demo-chat'] }));
const [alpha, beta, llama, tei] = await Promise.all(['alpha', 'beta', 'llama', 'tei'].map(start));
if (alpha === undefined || beta === undefined || llama === undefined || tei === undefined) throw new Error('no engine');
llama.set({ scores: 'raw' });
const engines = [alpha, beta, llama, tei];
const weir = await forFile(
  startWeir({
    engines,
    unlimited: true,
    manifests: { 'chat.yaml': backendManifest('a', alpha) + modelManifest('test/model', ['a']) },
  }),
);

/** Logits where probabilities were declared, and every answer that ranks something else. */
const defects = [
  { scores: 'raw' },
  ...(['missing', 'extra', 'duplicate-index', 'index-beyond', 'null', 'nan', 'text', 'none'] as const).map(
    (rankDefect) => ({
      rankDefect,
    }),
  ),
] as const;

const rankManifest = (id: string, backends: readonly string[], extra = ''): string =>
  [
    'apiVersion: weir.dev/v1alpha1',
    'kind: Model',
    `metadata: {name: ${id.replace('/', '-')}}`,
    `spec: {id: ${id}, kind: Rerank, ownedBy: test, added: "2026-06-01T00:00:00Z", contextLength: 8192, pricing: {prompt: "0.00000015"}, hedging: {mode: Disabled}, ${extra}`,
    `  routes: [${backends.map((backend, at) => `{backend: ${backend}, upstreamModel: demo-chat, weight: ${at === 0 ? 1000 : 0}}`).join(', ')}]}`,
    '---',
    '',
  ].join('\n');

/** The file of a watched folder. */
function declareRanks(): void {
  const catalog = [
    backendManifest('b', beta as { readonly port: number }),
    backendManifest('l', llama as { readonly port: number }, 'llamacpp'),
    backendManifest('t', tei as { readonly port: number }, 'tei'),
    rankManifest('test/ranks', ['a', 'b']),
    rankManifest('test/pieces', ['a', 'b'], 'rerank: {maxDocuments: 4},'),
    rankManifest('test/logits', ['l']),
    rankManifest('test/tei', ['t']),
    // Backends of their own, because a route that fails again and again is left out.
    ...defects.flatMap((_, at) => [
      backendManifest(`d-${at}`, alpha as { readonly port: number }),
      rankManifest(`test/defect-${at}`, [`d-${at}`, 'b']),
    ]),
  ];
  writeFileSync(join(weir.manifests, 'ranks.yaml'), catalog.join(''));
}

const query = `${canary} where does the water pass`;
const documents = Array.from(
  { length: 10 },
  (_, at) => `${canary} water number ${at} ${'passes over '.repeat(at % 4)}`,
);

interface Ranked {
  readonly id: string;
  readonly results: readonly {
    readonly index: number;
    readonly relevance_score: number;
    readonly document?: unknown;
  }[];
  readonly usage: { readonly prompt_tokens: number };
}

async function rank(model: string, more: object = {}, path = '/v1/rerank') {
  const answer = await weir.fetch(`${weir.origin}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${weir.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, query, documents, ...more }),
  });
  const text = await answer.text();
  return { status: answer.status, text, ranked: () => JSON.parse(text) as Ranked };
}

/** The ranks that every well-behaved engine gives. */
const expected = documents
  .map((text, index) => ({ index, relevance_score: unitScoreOf(rawScoreOf(query, text)) }))
  .toSorted((one, other) => other.relevance_score - one.relevance_score || one.index - other.index);
const tokens = documents.reduce((sum, text) => sum + countTokens(`${query}${text}`), 0);

beforeEach(() => {
  for (const engine of [alpha, beta, tei]) engine.reset();
});

test('the path comes with the first model of its kind, and is no path before', async () => {
  const before = await rank('test/ranks');
  const anywhere = await rank('test/ranks', {}, '/v1/anything');
  expect([before.status, before.text]).toEqual([404, anywhere.text.replace('/v1/anything', '/v1/rerank')]);
  declareRanks();
  await untilHolds(async () => expect((await rank('test/ranks')).status).toBe(200));
});

describe('documents', () => {
  test.each(['/v1/rerank', '/v2/rerank'])('are ranked at %s', async (path) => {
    const { status, ranked } = await rank('test/ranks', {}, path);
    expect(status).toBe(200);
    expect(ranked()).toMatchObject({ model: 'test/ranks', results: expected, usage: { prompt_tokens: tokens } });
  });

  test('are cut to the best ones and returned', async () => {
    const { ranked } = await rank('test/ranks', { top_n: 2, return_documents: true });
    expect(ranked().results).toEqual(
      expected.slice(0, 2).map((one) => ({ ...one, document: { text: documents[one.index] } })),
    );
  });

  test('of a large request, which a worker reads, are ranked and returned, too', async () => {
    const many = Array.from({ length: 400 }, (_, at) => ({
      id: at,
      text: `${canary} water "${at}"\n${'é over '.repeat(100)}`,
    }));
    const { status, ranked } = await rank('test/pieces', { documents: many, top_n: 3, return_documents: true });
    expect(status).toBe(200);
    expect(ranked().results).toHaveLength(3);
    for (const { index, relevance_score: score, document } of ranked().results) {
      expect(document).toEqual(many[index]);
      expect(score).toBe(unitScoreOf(rawScoreOf(query, many[index]?.text ?? '')));
    }
    expect(alpha.requests()).toHaveLength(100);
  });

  test('get scores between 0 and 1 from the logits of llama-server', async () => {
    const { ranked } = await rank('test/logits');
    const { results } = ranked();
    expect(results.map(({ index }) => index)).toEqual(expected.map(({ index }) => index));
    for (const [at, { relevance_score: score }] of results.entries())
      expect(score).toBeCloseTo(expected[at]?.relevance_score ?? NaN, 6);
  });

  test('are ranked by text-embeddings-inference in its own form, at its own path', async () => {
    const { ranked } = await rank('test/tei');
    expect(ranked().results).toEqual(expected);
    expect(tei.requests().map(({ path, body }) => [path, Object.keys(body as object)])).toEqual([
      ['/rerank', ['query', 'texts', 'raw_scores', 'return_text', 'truncate']],
    ]);
  });

  test('of a model of another kind are refused with a sentence', async () => {
    const { status, text } = await rank('test/model');
    expect([status, text]).toEqual([
      400,
      expect.stringContaining('model: test/model answers in words: use POST /v1/chat/completions'),
    ]);
  });
});

describe('a bad answer', () => {
  test.each(defects.map((defect, at) => [defect, at] as const))(
    'is a failed attempt that nobody sees: %j',
    async (defect, at) => {
      alpha.set({ ...defect, times: 1 });
      const { status, ranked } = await rank(`test/defect-${at}`);
      expect(status).toBe(200);
      expect(ranked().results).toEqual(expected);
      expect([alpha.requests().length, beta.requests().length]).toEqual([1, 1]);
    },
  );

  test('is none if only the order is the engine’s own', async () => {
    tei.set({ rankDefect: 'unsorted', times: 1 });
    expect((await rank('test/tei')).ranked().results).toEqual(expected);
    expect(tei.requests()).toHaveLength(1);
  });
});

describe('pieces', () => {
  test('are ranked by one route, and are one answer, one bill and one row', async () => {
    const { ranked } = await rank('test/pieces', { top_n: 5 });
    expect(ranked().results).toEqual(expected.slice(0, 5));
    const sizes = alpha.requests().map(({ body }) => (body as { documents: readonly string[] }).documents.length);
    expect(sizes.toSorted((a, b) => a - b)).toEqual([2, 4, 4]);
    const { id, usage } = ranked();
    expect(usage.prompt_tokens).toBe(tokens);
    const rows = async () => (await weir.ledger()).filter((row) => row['id'] === id);
    await untilHolds(async () => expect(await rows()).toHaveLength(1));
    expect(await rows()).toMatchObject([{ surface: 'rerank', prompt_tokens: tokens, completion_tokens: 0 }]);
  });

  test('go to another route together when one of them fails there', async () => {
    // What beta makes of the same texts differs, so mixed scores would show.
    beta.set({ vectorModel: 'other' });
    alpha.set({ status: 500 });
    const { status, ranked } = await rank('test/pieces');
    expect(status).toBe(200);
    const scores = documents.map((text) => unitScoreOf(rawScoreOf(query, text, { vectorModel: 'other' })));
    expect(ranked().results.map(({ index, relevance_score: score }) => [score, index])).toEqual(
      ranked().results.map(({ index }) => [scores[index], index]),
    );
    expect(beta.requests()).toHaveLength(3);
  });
});

test('the metrics and the list of models know the surface', async () => {
  expect(await weir.metric('weir_requests_total', { surface: 'rerank' })).toBeGreaterThan(10);
  const list = await weir.fetch(`${weir.baseUrl}/models`);
  const { data } = (await list.json()) as { readonly data: readonly { readonly id: string }[] };
  expect(data.find(({ id }) => id === 'test/ranks')).toMatchObject({ kind: 'rerank', context_length: 8192 });
});
