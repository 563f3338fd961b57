import { describe, expect, it } from 'vitest';
import type { FakeCall } from '../../../test/support/fake-upstream.ts';
import {
  begin,
  type BeginOptions,
  bodyOf,
  expectClean,
  header,
  type Run,
  settle,
} from '../../../test/support/pipeline-run.ts';
import { modelOf, routeOf } from '../../../test/support/route-of.ts';
import type { PromptCount } from '../../core/prompt.ts';
import { prepareHere } from './prepare.ts';
import type { Backend, CapabilityOverrides, Model } from '../../core/catalog.ts';

interface Given {
  readonly model?: Partial<Model>;
  readonly backend?: Partial<Backend>;
  readonly capabilities?: CapabilityOverrides;
}

const rankModel = ({ model, backend, capabilities = {} }: Given = {}): Model =>
  modelOf(
    ['a', 'b'].map((name) => {
      const route = routeOf(name, { capabilities });
      return { ...route, id: `rank@${name}`, backend: { ...route.backend, ...backend } };
    }),
    { id: 'demo/rank', kind: 'rerank', ...model },
  );

const start = (given: Given = {}, options: BeginOptions = {}): Run => begin({ models: [rankModel(given)], ...options });
const path = '/v1/rerank';
const send = (run: Run, body: object) =>
  run.send({ path, body: JSON.stringify({ model: 'demo/rank', query: 'CANARY-query', ...body }) });
const sentTo = ({ call }: FakeCall) =>
  JSON.parse(String(call.body)) as { readonly documents: readonly string[]; readonly texts: readonly string[] };
const json = 'application/json';
const documents = (count: number) => Array.from({ length: count }, (_, at) => `CANARY ${at}`);

const ranks = (scores: readonly unknown[], more: object = { usage: { prompt_tokens: 5 } }): string =>
  JSON.stringify({ results: scores.map((score, index) => ({ index, relevance_score: score })), ...more });

/** Answers a call: the score of a document is its number, divided by `divisor`. */
function answerDocuments(engine: FakeCall, divisor = 100, more?: object): void {
  engine.answer(
    json,
    ranks(
      sentTo(engine).documents.map((text) => Number(text.split(' ')[1]) / divisor),
      more,
    ),
  );
}

const scoresOf = (exchange: Parameters<typeof bodyOf>[0]) =>
  (
    bodyOf(exchange) as { readonly results: readonly { readonly index: number; readonly relevance_score: number }[] }
  ).results.map(({ index, relevance_score: score }) => [index, score] as const);

describe('documents', () => {
  it('are ranked, and billed by the count of the engine', async () => {
    const run = start();
    const exchange = send(run, { documents: documents(3), user: 'CANARY-user', priority: 1 });
    const engine = await run.upstream.called(0);
    expect(engine.call.path).toBe('/v1/rerank');
    expect(sentTo(engine)).toEqual({
      model: 'Tiny/Upstream-1B',
      query: 'CANARY-query',
      documents: documents(3),
      top_n: 3,
    });
    engine.answer(json, ranks([0.1, 0.9, 0.5]));
    await exchange.answered;
    expect([exchange.status(), bodyOf(exchange)]).toEqual([
      200,
      {
        id: 'rerank-1',
        model: 'demo/rank',
        results: [
          { index: 1, relevance_score: 0.9 },
          { index: 2, relevance_score: 0.5 },
          { index: 0, relevance_score: 0.1 },
        ],
        usage: { prompt_tokens: 5, total_tokens: 5, cost: 0.00000075 },
        meta: { tokens: { input_tokens: 5 } },
      },
    ]);
    expect(header(exchange, 'x-service-inert-params')).toBe('priority');
    expect(run.store.outcomes).toMatchObject([
      {
        ...{ kind: 'completed', surface: 'rerank', modelId: 'demo/rank', countedBy: 'engine', cost: 750_000n },
        usage: { promptTokens: 5, completionTokens: 0 },
      },
    ]);
    await expectClean(run, 1);
  });

  it('are cut to the best ones after all are ranked, and returned as they were sent', async () => {
    const run = start();
    const exchange = send(run, { documents: ['x', { text: 'y', id: 7 }], top_n: 1, return_documents: true });
    (await run.upstream.called(0)).answer(json, ranks([0.1, 0.9]));
    await exchange.answered;
    expect(bodyOf(exchange)).toMatchObject({
      results: [{ index: 1, relevance_score: 0.9, document: { text: 'y', id: 7 } }],
    });
  });

  it('of text-embeddings-inference go beside /v1, and are billed by the count of its header', async () => {
    const run = start({ backend: { engine: 'tei' } });
    const exchange = send(run, { documents: documents(2) });
    const engine = await run.upstream.called(0);
    expect(engine.call.path).toBe('/rerank');
    expect(sentTo(engine).texts).toEqual(documents(2));
    engine.head(200, { 'content-type': json, 'x-compute-tokens': '31' });
    engine.data('[{"index":1,"score":0.8},{"index":0,"score":0.2}]');
    engine.end();
    await exchange.answered;
    expect(scoresOf(exchange)).toEqual([
      [1, 0.8],
      [0, 0.2],
    ]);
    expect(run.store.outcomes).toMatchObject([{ countedBy: 'engine', usage: { promptTokens: 31 } }]);
  });

  it.each([
    ['llamacpp', {}, [0.5, 0.731]],
    ['llamacpp', { rerankScores: 'Probability' }, [0, 1]],
    ['vllm', {}, [0, 1]],
    ['vllm', { rerankScores: 'Logit' }, [0.5, 0.731]],
    ['vllm', { rerankScores: 'Cosine' }, [0.5, 1]],
  ] as const)('get scores by the scale of the route: %s, %j', async (engine, capabilities, expected) => {
    const run = start({ backend: { engine }, capabilities });
    const exchange = send(run, { documents: documents(2) });
    (await run.upstream.called(0)).answer(json, ranks([0, 1]));
    await exchange.answered;
    const scores = scoresOf(exchange).map(([, score]) => Number(score.toFixed(3)));
    expect(scores.toReversed()).toEqual(expected);
  });

  it.each([
    [{ query: '', documents: ['a'] }, 'query: expected a text that is not blank'],
    [{ documents: [] }, 'documents: '],
    [{ documents: ['a', ' '] }, 'documents[1]: expected a text that is not blank'],
    [{ documents: ['a', {}] }, 'documents[1].text: expected string'],
    [{ documents: ['a'], top_n: 0 }, 'top_n: '],
  ])('refuse %j before an engine is asked', async (body, message) => {
    const run = start();
    const exchange = send(run, body);
    await exchange.answered;
    expect([exchange.status(), bodyOf(exchange)]).toMatchObject([
      400,
      { error: { message: expect.stringContaining(message) as string } },
    ]);
    expect(run.upstream.calls).toHaveLength(0);
    await expectClean(run, 0);
  });
});

describe('long documents', () => {
  const limited = { documents: ['CANARY-long one', 'CANARY-short'], max_tokens_per_doc: 4 };

  it('are cut by an engine that knows the field', async () => {
    const run = start();
    const exchange = send(run, limited);
    const engine = await run.upstream.called(0);
    expect(sentTo(engine)).toMatchObject({ documents: limited.documents, max_tokens_per_doc: 4 });
    engine.answer(json, ranks([0.1, 0.2]));
    await exchange.answered;
    expect(exchange.status()).toBe(200);
  });

  it('are a 400 where nothing cuts them', async () => {
    const run = start({ backend: { engine: 'llamacpp' } });
    const exchange = send(run, limited);
    await exchange.answered;
    expect([exchange.status(), bodyOf(exchange)]).toMatchObject([
      400,
      {
        error: {
          code: 'param_not_supported',
          message: expect.stringMatching(/^max_tokens_per_doc: demo\/rank /) as string,
        },
      },
    ]);
    expect(run.upstream.calls).toHaveLength(0);
  });

  const tokenizer = { path: 'some' };
  const counted = (count: PromptCount) =>
    ({
      prepare: (body, surface) => prepareHere(body, { surface, countPrompt: () => Promise.resolve(count) }),
    }) satisfies BeginOptions;

  it('are cut by the model’s tokenizer, whatever the engine', async () => {
    const options = counted({ kind: 'within', atMost: 9, lengths: [6, 12] });
    const run = start({ backend: { engine: 'llamacpp' }, model: { tokenizer, rerank: { maxDocuments: 1 } } }, options);
    const exchange = send(run, limited);
    const calls = await Promise.all([0, 1].map((at) => run.upstream.called(at)));
    expect(calls.flatMap((call) => sentTo(call).documents)).toEqual(['CANARY', 'CANARY-short']);
    for (const call of calls) call.answer(json, ranks([0]));
    await exchange.answered;
    expect(exchange.status()).toBe(200);
  });

  it('are refused with their index where they do not fit the window with the query', async () => {
    const run = start({ model: { tokenizer, contextLength: 20 } }, counted({ kind: 'over', atLeast: 21, at: 2 }));
    const exchange = send(run, { documents: ['a', 'b'] });
    await exchange.answered;
    expect([exchange.status(), bodyOf(exchange)]).toMatchObject([
      400,
      {
        error: {
          code: 'context_length_exceeded',
          message: expect.stringMatching(/^documents\[1\]: .*20 tokens for the query and one document/) as string,
        },
      },
    ]);
    expect(run.upstream.calls).toHaveLength(0);
  });
});

describe('the count of an engine', () => {
  const query = 'a long query '.repeat(40);

  it('may have the query once for each document', async () => {
    const run = start();
    const exchange = send(run, { query, documents: documents(50) });
    const tokens = 50 * (120 + 100 + 4);
    answerDocuments(await run.upstream.called(0), 100, { usage: { prompt_tokens: tokens } });
    await exchange.answered;
    expect(run.store.outcomes).toMatchObject([{ countedBy: 'engine', usage: { promptTokens: tokens } }]);
  });

  it('is replaced where it cannot be true, by an estimate that has the query once for each document, too', async () => {
    const run = start();
    for (const [at, tokens] of [0, 5_000_000].entries()) {
      const exchange = send(run, { query, documents: documents(50) });
      answerDocuments(await run.upstream.called(at), 100, { usage: { prompt_tokens: tokens } });
      await exchange.answered;
    }
    const used = run.store.outcomes.map(({ countedBy, usage }) => [countedBy, usage.promptTokens] as const);
    expect(used[0]).toEqual(used[1]);
    expect(used[0]?.[0]).toBe('estimate');
    expect(used[0]?.[1]).toBeGreaterThan(50 * 60);
    expect(used[0]?.[1]).toBeLessThan(50 * 124);
  });

  it('is estimated where there is none', async () => {
    const run = start({ model: { rerank: { maxDocuments: 25 } } });
    const exchange = send(run, { query, documents: documents(50) });
    for (const at of [0, 1]) answerDocuments(await run.upstream.called(at), 100, {});
    await exchange.answered;
    expect(run.store.outcomes).toMatchObject([{ countedBy: 'estimate' }]);
    expect(run.store.outcomes[0]?.usage.promptTokens).toBeGreaterThan(50 * 60);
  });
});

describe('a model of another kind', () => {
  it.each([
    [
      path,
      { model: 'demo/tiny', query: 'x', documents: ['x'] },
      'model: demo/tiny answers in words: use POST /v1/chat/completions',
    ],
    [
      '/v1/chat/completions',
      { model: 'demo/rank', messages: [{ role: 'user', content: 'x' }] },
      'model: demo/rank orders documents: use POST /v1/rerank',
    ],
  ])('is refused at %s', async (at, body, message) => {
    const run = start();
    const exchange = run.send({ path: at, body: JSON.stringify(body) });
    await exchange.answered;
    expect([exchange.status(), bodyOf(exchange)]).toMatchObject([400, { error: { message } }]);
  });

  it('is at no path while the catalog has no rerank model', async () => {
    const run = begin();
    const exchange = run.send({ path, body: '{}' });
    await exchange.answered;
    // Envoy writes the rest, as for every unknown path.
    expect([exchange.status(), exchange.text()]).toEqual([404, '']);
  });
});

describe('a bad answer of an engine', () => {
  it.each([
    ['a document too few: the engine has a top_n of its own', ranks([0.1])],
    ['a document too many', ranks([0.1, 0.2, 0.3])],
    ['an index twice', JSON.stringify({ results: [0, 0].map((index) => ({ index, relevance_score: 0.1 })) })],
    ['null for a score', ranks([0.1, null])],
    ['NaN', ranks([0.1, 0.2]).replace('0.2', 'NaN')],
    ['logits where probabilities were declared', ranks([0.1, 7.74])],
    ['an error in a 200', '{"error":{"message":"CUDA out of memory"}}'],
    ['half of it', ranks([0.1, 0.2]).slice(0, 30)],
    ['a chat completion', '{"choices":[{"index":0,"message":{"content":"hi"},"finish_reason":"stop"}]}'],
  ])('is a failed attempt that no caller sees: %s', async (_, bad) => {
    const run = start();
    const exchange = send(run, { documents: documents(2) });
    (await run.upstream.called(0)).answer(json, bad);
    (await run.upstream.called(1)).answer(json, ranks([0.1, 0.2]));
    await exchange.answered;
    expect(scoresOf(exchange)).toEqual([
      [1, 0.2],
      [0, 0.1],
    ]);
    expect(run.store.outcomes).toMatchObject([{ kind: 'completed', attempts: 2, usage: { promptTokens: 5 } }]);
    await expectClean(run, 1);
  });

  it('is a 502 when every route gives it, and costs nothing', async () => {
    const run = start();
    const exchange = send(run, { documents: documents(1) });
    for (const at of [0, 1]) (await run.upstream.called(at)).answer(json, ranks([null]));
    await exchange.answered;
    expect(exchange.status()).toBe(502);
    expect(run.store.outcomes).toMatchObject([{ kind: 'failed', cost: 0n, fault: 'malformed' }]);
  });

  it('is the operator’s to repair where llama-server was started without --reranking', async () => {
    const run = start({ backend: { engine: 'llamacpp' } });
    const exchange = send(run, { documents: documents(1) });
    for (const at of [0, 1]) {
      const engine = await run.upstream.called(at);
      engine.head(501, { 'content-type': json });
      const message = 'This server does not support reranking. Start it with `--reranking`';
      engine.data(JSON.stringify({ error: { code: 501, message, type: 'not_supported_error' } }));
      engine.end();
    }
    await exchange.answered;
    expect([exchange.status(), bodyOf(exchange)]).toMatchObject([
      502,
      { error: { message: expect.stringContaining('needs a repair first') as string } },
    ]);
  });
});

describe('more documents than an engine takes', () => {
  const pieces: Given = { model: { rerank: { maxDocuments: 2 } } };
  const routeOfCall = ({ call }: FakeCall) => call.backend;

  it('are ranked in pieces, side by side and on one route, and joined into one answer and one bill', async () => {
    const run = start(pieces);
    const exchange = send(run, { documents: documents(7), top_n: 3 });
    const calls = await Promise.all([0, 1, 2, 3].map((at) => run.upstream.called(at)));
    expect(calls.map((call) => sentTo(call).documents.length)).toEqual([2, 2, 2, 1]);
    expect(new Set(calls.map(routeOfCall)).size).toBe(1);
    for (const call of calls.toReversed()) answerDocuments(call);
    await exchange.answered;
    expect(scoresOf(exchange)).toEqual([
      [6, 0.06],
      [5, 0.05],
      [4, 0.04],
    ]);
    expect(run.store.outcomes).toMatchObject([
      { kind: 'completed', attempts: 4, countedBy: 'engine', usage: { promptTokens: 20, completionTokens: 0 } },
    ]);
    await expectClean(run, 1);
  });

  it('are all ranked again by the next route when a piece fails for good, so that no scores of two engines are mixed', async () => {
    const run = start(pieces);
    const exchange = send(run, { documents: documents(4) });
    const [first, second] = await Promise.all([run.upstream.called(0), run.upstream.called(1)]);
    answerDocuments(first, 10);
    second.fail('ECONNREFUSED');
    const others = await Promise.all([2, 3].map((at) => run.upstream.called(at)));
    expect(others.map(routeOfCall)).not.toContain(routeOfCall(first));
    for (const call of others) answerDocuments(call, 1000);
    await exchange.answered;
    expect(scoresOf(exchange)).toEqual([
      [3, 0.003],
      [2, 0.002],
      [1, 0.001],
      [0, 0],
    ]);
    expect(run.upstream.calls).toHaveLength(4);
    expect(run.store.outcomes).toMatchObject([
      { kind: 'completed', attempts: 4, routes: 2, usage: { promptTokens: 10 } },
    ]);
    await expectClean(run, 1);
  });

  it('fail whole when every route has failed, and nothing is billed', async () => {
    const run = start(pieces);
    const exchange = send(run, { documents: documents(4) });
    for (const at of [0, 2]) {
      const [failing, other] = await Promise.all([run.upstream.called(at), run.upstream.called(at + 1)]);
      failing.fail('ECONNREFUSED');
      await settle();
      expect(other.aborted()).toBe(true);
    }
    await exchange.answered;
    expect(exchange.status()).toBe(502);
    expect(run.store.outcomes).toMatchObject([{ kind: 'failed', cost: 0n, routes: 2 }]);
    await expectClean(run, 1);
  });

  it('are a 400 when every route finds the request at fault', async () => {
    const run = start(pieces);
    const exchange = send(run, { documents: documents(3) });
    for (const at of [0, 2]) {
      const engine = await run.upstream.called(at);
      engine.head(400, { 'content-type': json });
      engine.data(JSON.stringify({ error: { message: 'documents are not to my liking', type: 'BadRequestError' } }));
      engine.end();
      await run.upstream.called(at + 1);
    }
    await exchange.answered;
    expect(exchange.status()).toBe(400);
  });

  it('are aborted when the caller leaves', async () => {
    const run = start(pieces, { isAnswering: true, reaches: true });
    const exchange = send(run, { documents: documents(4) });
    const calls = await Promise.all([0, 1].map((at) => run.upstream.called(at)));
    exchange.leave();
    await settle();
    expect(calls.every((call) => call.aborted())).toBe(true);
    expect(run.upstream.calls).toHaveLength(2);
    expect(run.store.outcomes).toMatchObject([{ kind: 'cancelled' }]);
    await expectClean(run, 1);
  });

  it('are split only for the routes that need it', async () => {
    const model = rankModel();
    const [a, b] = model.routes;
    if (a === undefined || b === undefined) return expect.fail('no routes');
    const routes = [a, { ...b, backend: { ...b.backend, engine: 'tei' as const } }];
    const run = begin({ models: [{ ...model, routes }] });
    const exchange = send(run, { documents: documents(40) });
    const whole = await run.upstream.called(0);
    expect(sentTo(whole).documents).toHaveLength(40);
    whole.fail('ECONNREFUSED');
    const pieces = await Promise.all([1, 2].map((at) => run.upstream.called(at)));
    expect(pieces.map((call) => sentTo(call).texts.length)).toEqual([32, 8]);
    for (const call of pieces)
      call.answer(json, JSON.stringify(sentTo(call).texts.map((_, index) => ({ index, score: 0.5 }))));
    await exchange.answered;
    expect(scoresOf(exchange)).toHaveLength(40);
  });

  it('of text-embeddings-inference are split at its usual limit', async () => {
    const run = start({ backend: { engine: 'tei' } });
    const exchange = send(run, { documents: documents(40) });
    const calls = await Promise.all([0, 1].map((at) => run.upstream.called(at)));
    expect(calls.map((call) => sentTo(call).texts.length)).toEqual([32, 8]);
    for (const call of calls)
      call.answer(json, JSON.stringify(sentTo(call).texts.map((_, index) => ({ index, score: 0.5 }))));
    await exchange.answered;
    expect(scoresOf(exchange).map(([index]) => index)).toEqual(documents(40).map((_, at) => at));
  });
});
