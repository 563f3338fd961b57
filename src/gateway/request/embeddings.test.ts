import { describe, expect, it } from 'vitest';
import { credentialOf } from '../../../test/support/credential-of.ts';
import type { FakeCall } from '../../../test/support/fake-upstream.ts';
import { begin, type BeginOptions, bodyOf, expectClean, type Run, settle } from '../../../test/support/pipeline-run.ts';
import { modelOf, routeOf } from '../../../test/support/route-of.ts';
import type { EmbeddingFacts, Model } from '../../core/catalog.ts';
import type { EngineName } from '../../core/engine-name.ts';

const facts: EmbeddingFacts = { dimensions: 3, shorterDimensions: [2], minSimilarity: 0.999, tokenIds: false };

const embeddingModel = (
  given: Partial<EmbeddingFacts> = {},
  { engine = 'vllm', ...fields }: Partial<Model> & { readonly engine?: EngineName } = {},
): Model =>
  modelOf(
    ['a', 'b'].map((name) => {
      const route = routeOf(name);
      return { ...route, id: `embed@${name}`, backend: { ...route.backend, engine } };
    }),
    { id: 'demo/embed', kind: 'embedding', embedding: { ...facts, ...given }, ...fields },
  );

const start = (model: Model = embeddingModel(), options: BeginOptions = {}): Run =>
  begin({ models: [model], ...options });
const path = '/v1/embeddings';
const send = (run: Run, body: object) => run.send({ path, body: JSON.stringify({ model: 'demo/embed', ...body }) });
const sentTo = ({ call }: FakeCall): Readonly<Record<string, unknown>> => JSON.parse(String(call.body));
const json = 'application/json';

const usage = { prompt_tokens: 5, total_tokens: 5 };
const listOf = (embeddings: readonly unknown[], more: object = { usage }): string =>
  JSON.stringify({
    object: 'list',
    data: embeddings.map((embedding, index) => ({ object: 'embedding', index, embedding })),
    model: 'up/x',
    ...more,
  });
const base64Of = (...values: readonly number[]): string =>
  Buffer.from(Float32Array.from(values).buffer).toString('base64');

/** Answers a call with one vector for each input: its first number is the input's own. */
const answerInputs = (engine: FakeCall, more?: object): void => {
  const inputs = sentTo(engine)['input'] as readonly string[];
  engine.answer(
    json,
    listOf(
      inputs.map((text) => [Number(text), 0.5, 1]),
      more,
    ),
  );
};

describe('embeddings', () => {
  it('are answered in the form of the public wire format, and billed by the engine’s count', async () => {
    const run = start();
    const exchange = send(run, { input: ['one', 'two'], user: 'CANARY-user', encoding_format: 'float' });
    const engine = await run.upstream.called(0);
    expect(engine.call.path).toBe('/v1/embeddings');
    expect(sentTo(engine)).toEqual({ model: 'Tiny/Upstream-1B', input: ['one', 'two'] });
    engine.answer(
      json,
      listOf([
        [0.1, 0.2, 0.3],
        [1, 0, -0.5],
      ]),
    );
    await exchange.answered;
    expect([exchange.status(), bodyOf(exchange)]).toEqual([
      200,
      {
        object: 'list',
        id: 'embd-1',
        data: [
          { object: 'embedding', index: 0, embedding: [0.1, 0.2, 0.3] },
          { object: 'embedding', index: 1, embedding: [1, 0, -0.5] },
        ],
        model: 'demo/embed',
        usage: { prompt_tokens: 5, total_tokens: 5, cost: 0.00000075 },
      },
    ]);
    expect(run.store.outcomes).toMatchObject([
      {
        ...{ kind: 'completed', surface: 'embeddings', modelId: 'demo/embed', countedBy: 'engine', cost: 750_000n },
        usage: { promptTokens: 5, completionTokens: 0 },
      },
    ]);
    await expectClean(run, 1);
  });

  it('pass the engine’s own text of a number on', async () => {
    const run = start();
    const exchange = send(run, { input: 'x' });
    const text = '[-0.0123456789012345678, 1.50e-3,\n 7E+2]';
    (await run.upstream.called(0)).answer(
      json,
      `{"data":[{"index":0,"embedding": ${text}}],"usage":{"prompt_tokens":1}}`,
    );
    await exchange.answered;
    expect(exchange.text()).toContain(`"embedding":${text}`);
  });

  it.each([
    ['vllm', 'base64', 'base64', base64Of(0.1, 0.2, 0.3)],
    ['vllm', 'base64', 'base64', [0.1, 0.2, 0.3]],
    ['ollama', 'base64', undefined, [0.1, 0.2, 0.3]],
    ['ollama', 'float', undefined, base64Of(0.1, 0.2, 0.3)],
  ] as const)(
    'come in the encoding of the caller, whatever the engine sends: %s, %s',
    async (engine, asked, sent, answer) => {
      const run = start(embeddingModel({}, { engine }));
      const exchange = send(run, { input: 'x', encoding_format: asked });
      const call = await run.upstream.called(0);
      expect(sentTo(call)['encoding_format']).toBe(sent);
      call.answer(json, listOf([answer]));
      await exchange.answered;
      const { data } = bodyOf(exchange) as { data: [{ embedding: unknown }] };
      const exact = [0.1, 0.2, 0.3].map(Math.fround);
      expect(data[0].embedding).toEqual(asked === 'base64' ? base64Of(0.1, 0.2, 0.3) : exact);
    },
  );

  it('come in the order of the inputs, whatever the order of the engine', async () => {
    const run = start();
    const exchange = send(run, { input: ['a', 'b'] });
    const data = [
      { index: 1, embedding: [2, 2, 2] },
      { index: 0, embedding: [1, 1, 1] },
    ];
    (await run.upstream.called(0)).answer(json, JSON.stringify({ data, usage }));
    await exchange.answered;
    expect(bodyOf(exchange)).toMatchObject({
      data: [
        { index: 0, embedding: [1, 1, 1] },
        { index: 1, embedding: [2, 2, 2] },
      ],
    });
  });

  it('are shortened only to a length that the model allows, and the engine is asked only for a shorter one', async () => {
    const run = start();
    const short = send(run, { input: 'x', dimensions: 2 });
    const engine = await run.upstream.called(0);
    expect(sentTo(engine)['dimensions']).toBe(2);
    engine.answer(json, listOf([[1, 2]]));
    await short.answered;
    expect(short.status()).toBe(200);
    const whole = send(run, { input: 'x', dimensions: 3 });
    const second = await run.upstream.called(1);
    expect(sentTo(second)).not.toHaveProperty('dimensions');
    second.answer(json, listOf([[1, 2, 3]]));
    await whole.answered;
    const other = send(run, { input: 'x', dimensions: 4 });
    await other.answered;
    expect([other.status(), bodyOf(other)]).toMatchObject([
      400,
      { error: { message: expect.stringContaining('dimensions: expected 2 or 3') as string } },
    ]);
  });

  it('are made of token ids only by a model that says whose ids it takes', async () => {
    const refusing = start();
    const refused = send(refusing, { input: [[15339, 1917]] });
    await refused.answered;
    expect([refused.status(), bodyOf(refused)]).toMatchObject([
      400,
      { error: { message: expect.stringContaining('check_embedding_ctx_length=False') as string } },
    ]);
    const run = start(embeddingModel({ tokenIds: true }));
    const exchange = send(run, { input: [[15339, 1917], [5]] });
    const engine = await run.upstream.called(0);
    expect(sentTo(engine)['input']).toEqual([[15339, 1917], [5]]);
    engine.answer(
      json,
      listOf(
        [
          [1, 2, 3],
          [4, 5, 6],
        ],
        {},
      ),
    );
    await exchange.answered;
    expect(bodyOf(exchange)).toMatchObject({ usage: { prompt_tokens: 3 } });
  });

  it('refuse a list of token ids that is longer than the window', async () => {
    const run = start(embeddingModel({ tokenIds: true }, { contextLength: 2 }));
    const exchange = send(run, {
      input: [
        [1, 2],
        [1, 2, 3],
      ],
    });
    await exchange.answered;
    expect([exchange.status(), bodyOf(exchange)]).toMatchObject([
      400,
      { error: { message: expect.stringMatching(/^input\[1\]: .*2 tokens/) as string } },
    ]);
    expect(run.upstream.calls).toHaveLength(0);
  });

  it.each([
    [{}, 'input: expected a text, or a list of texts'],
    [{ input: '' }, 'input: expected a text that is not empty'],
    [{ input: [] }, 'input: expected at least one text'],
    [{ input: ['a', ''] }, 'input[1]: expected a text that is not empty'],
    [{ input: ['a', 5] }, 'input[1]: expected a text'],
    [{ input: [null] }, 'input[0]: expected a text'],
    [{ input: Array.from({ length: 2049 }, () => 'a') }, 'input[2048]: expected at most 2048 inputs, got 2049'],
    [{ input: [[1], 'a'] }, 'input[1]: expected a list of token ids'],
    [{ input: [[1, -1]] }, 'input[0][1]: expected a token id'],
    [{ input: 'a', encoding_format: 'int8' }, 'encoding_format: expected one of'],
    [{ input: 'a', dimensions: 0 }, 'dimensions: '],
  ])('refuse %j', async (body, message) => {
    const run = start();
    const exchange = send(run, body);
    await exchange.answered;
    expect(exchange.status()).toBe(400);
    expect(bodyOf(exchange)).toMatchObject({ error: { message: expect.stringContaining(message) as string } });
    expect(run.upstream.calls).toHaveLength(0);
    await expectClean(run, 0);
  });

  it('name fields that have no effect', async () => {
    const run = start();
    const exchange = send(run, { input: 'x', input_type: 'query', user: 'u' });
    (await run.upstream.called(0)).answer(json, listOf([[1, 2, 3]]));
    await exchange.answered;
    expect(exchange.headers()).toContainEqual(['x-service-inert-params', 'input_type']);
  });
});

describe('a model of another kind', () => {
  it.each([
    [path, { model: 'demo/tiny', input: 'x' }, 'model: demo/tiny answers in words: use POST /v1/chat/completions'],
    [
      '/v1/chat/completions',
      { model: 'demo/embed', messages: [{ role: 'user', content: 'x' }] },
      'model: demo/embed makes embeddings: use POST /v1/embeddings',
    ],
    [
      '/v1/responses',
      { model: 'demo/embed', input: 'x' },
      'model: demo/embed makes embeddings: use POST /v1/embeddings',
    ],
  ])('is refused at %s', async (at, body, message) => {
    const run = start();
    const exchange = run.send({ path: at, body: JSON.stringify(body) });
    await exchange.answered;
    expect([exchange.status(), bodyOf(exchange)]).toMatchObject([400, { error: { message } }]);
  });

  it('is at no path while the catalog has no embedding model', async () => {
    const run = begin();
    const exchange = run.send({ path, body: '{}' });
    await exchange.answered;
    // Envoy gives it the body of its own 404.
    expect([exchange.status(), exchange.headers(), exchange.text()]).toEqual([404, [], '']);
    await expectClean(run, 0);
  });
});

describe('a bad answer of an engine', () => {
  const good = [
    [1, 2, 3],
    [4, 5, 6],
  ];
  it.each([
    [
      'null in every place (llama.cpp#14812)',
      listOf([
        [null, null, null],
        [null, null, null],
      ]),
    ],
    ['null in place of a vector', listOf([null, good[1]])],
    ['NaN', listOf(good).replace('4', 'NaN')],
    ['a number that is not finite', listOf(good).replace('4', '1e39')],
    ['zeros', listOf([[0, 0, 0], good[1]])],
    ['another length', listOf([[1, 2], good[1]])],
    ['a vector too few', listOf([good[0]])],
    ['a vector too many', listOf([...good, good[0]])],
    ['an index twice', JSON.stringify({ data: good.map((embedding) => ({ index: 0, embedding })) })],
    ['an index out of range', JSON.stringify({ data: good.map((embedding, at) => ({ index: at + 1, embedding })) })],
    ['nested vectors', listOf([[good[0]], [good[1]]])],
    ['noise in base64', listOf(['not base64!', base64Of(1, 2, 3)])],
    ['an error in a 200', '{"error":{"message":"CUDA out of memory"}}'],
    ['a list in place of an object', JSON.stringify(good)],
    ['no JSON', '<html></html>'],
    ['half of it', listOf(good).slice(0, 80)],
  ])('is a failed attempt that no caller sees: %s', async (_, bad) => {
    const run = start();
    const exchange = send(run, { input: ['a', 'b'] });
    (await run.upstream.called(0)).answer(json, bad);
    (await run.upstream.called(1)).answer(json, listOf(good));
    await exchange.answered;
    expect([exchange.status(), bodyOf(exchange)]).toMatchObject([
      200,
      { data: [{ embedding: good[0] }, { embedding: good[1] }] },
    ]);
    expect(run.store.outcomes).toMatchObject([{ kind: 'completed', attempts: 2, usage: { promptTokens: 5 } }]);
    await expectClean(run, 1);
  });

  it('is a 502 when every route gives it, and costs nothing', async () => {
    const run = start();
    const exchange = send(run, { input: 'a' });
    for (const at of [0, 1]) (await run.upstream.called(at)).answer(json, listOf([[0, 0, 0]]));
    await exchange.answered;
    expect(exchange.status()).toBe(502);
    expect(run.store.outcomes).toMatchObject([{ kind: 'failed', cost: 0n, fault: 'malformed' }]);
    expect(run.faults).toEqual(['embed@a malformed', 'embed@b malformed']);
  });

  it('is not the caller’s fault where llama-server’s physical batch is below the window (llama.cpp#7422)', async () => {
    const run = start(embeddingModel({}, { engine: 'llamacpp' }));
    const exchange = send(run, { input: 'a' });
    for (const at of [0, 1]) {
      const engine = await run.upstream.called(at);
      engine.head(500, { 'content-type': json });
      const message =
        'input (600 tokens) is too large to process. increase the physical batch size (current batch size: 512)';
      engine.data(JSON.stringify({ error: { code: 500, message, type: 'server_error' } }));
      engine.end();
    }
    await exchange.answered;
    expect([exchange.status(), bodyOf(exchange)]).toMatchObject([
      502,
      { error: { message: expect.stringContaining('needs a repair first') as string } },
    ]);
  });
});

describe('an answer without usage', () => {
  it('is billed by an estimate that errs low', async () => {
    const run = start();
    const exchange = send(run, { input: ['one two three four five six seven', 'eight'] });
    (await run.upstream.called(0)).answer(
      json,
      listOf(
        [
          [1, 2, 3],
          [4, 5, 6],
        ],
        {},
      ),
    );
    await exchange.answered;
    expect(run.store.outcomes).toMatchObject([{ kind: 'completed', countedBy: 'estimate' }]);
    expect(run.store.outcomes[0]?.usage.promptTokens).toBeGreaterThan(3);
  });
});

describe('more inputs than an engine takes', () => {
  const inputs = (count: number) => Array.from({ length: count }, (_, at) => String(at + 1));
  const vectorsOf = (text: string): readonly number[] =>
    (JSON.parse(text) as { data: { embedding: [number] }[] }).data.map(({ embedding }) => embedding[0]);

  it('are split, sent side by side, and joined in order, with one bill', async () => {
    const run = start(embeddingModel({}, { engine: 'tei' }));
    const exchange = send(run, { input: inputs(200) });
    const calls = await Promise.all([0, 1, 2, 3].map((at) => run.upstream.called(at)));
    await settle();
    expect(run.upstream.calls).toHaveLength(4);
    expect(calls.map((call) => (sentTo(call)['input'] as unknown[]).length)).toEqual([32, 32, 32, 32]);
    for (const call of calls.toReversed()) answerInputs(call);
    for (const at of [4, 5, 6]) answerInputs(await run.upstream.called(at));
    await exchange.answered;
    expect(vectorsOf(exchange.text())).toEqual(inputs(200).map(Number));
    expect(run.upstream.calls).toHaveLength(7);
    expect(run.store.outcomes).toMatchObject([
      { kind: 'completed', attempts: 7, countedBy: 'engine', usage: { promptTokens: 35, completionTokens: 0 } },
    ]);
    await expectClean(run, 1);
  });

  it('are split as the Model says', async () => {
    const run = start(embeddingModel({ maxInputs: 2 }));
    const exchange = send(run, { input: inputs(3) });
    for (const at of [0, 1]) answerInputs(await run.upstream.called(at));
    await exchange.answered;
    expect(vectorsOf(exchange.text())).toEqual([1, 2, 3]);
  });

  it('go to another endpoint alone when their piece fails', async () => {
    const run = start(embeddingModel({ maxInputs: 2 }));
    const exchange = send(run, { input: inputs(4) });
    const [first, second] = await Promise.all([run.upstream.called(0), run.upstream.called(1)]);
    first.fail('ECONNREFUSED');
    answerInputs(second);
    const again = await run.upstream.called(2);
    expect(sentTo(again)['input']).toEqual(['1', '2']);
    answerInputs(again);
    await exchange.answered;
    expect(vectorsOf(exchange.text())).toEqual([1, 2, 3, 4]);
    expect(run.store.outcomes).toMatchObject([{ kind: 'completed', attempts: 3, usage: { promptTokens: 10 } }]);
    await expectClean(run, 1);
  });

  it('fail whole when a piece fails for good: the others are aborted, and nothing is billed', async () => {
    const run = start(embeddingModel({ maxInputs: 1 }));
    const exchange = send(run, { input: inputs(6) });
    const first = await run.upstream.called(0);
    const others = await Promise.all([1, 2, 3].map((at) => run.upstream.called(at)));
    first.fail('ECONNREFUSED');
    (await run.upstream.called(4)).fail('ECONNREFUSED');
    await exchange.answered;
    expect(exchange.status()).toBe(502);
    expect(others.every((call) => call.aborted())).toBe(true);
    expect(run.upstream.calls).toHaveLength(5);
    expect(run.store.outcomes).toMatchObject([{ kind: 'failed', cost: 0n }]);
    await expectClean(run, 1);
  });

  it('are sent one by one where the Backend takes one request at a time', async () => {
    const model = embeddingModel({ maxInputs: 1 });
    const routes = model.routes.map((route) => ({ ...route, backend: { ...route.backend, maxConcurrentRequests: 1 } }));
    const run = start({ ...model, routes });
    const exchange = send(run, { input: inputs(3) });
    for (const at of [0, 1, 2]) {
      const call = await run.upstream.called(at);
      await settle();
      expect(run.upstream.calls).toHaveLength(at + 1);
      answerInputs(call);
    }
    await exchange.answered;
    expect(vectorsOf(exchange.text())).toEqual([1, 2, 3]);
  });

  it('are counted by an estimate when one engine has not counted', async () => {
    const run = start(embeddingModel({ maxInputs: 1 }));
    const exchange = send(run, { input: ['1', '2'] });
    const [first, second] = await Promise.all([run.upstream.called(0), run.upstream.called(1)]);
    answerInputs(first);
    answerInputs(second, {});
    await exchange.answered;
    expect(run.store.outcomes).toMatchObject([
      { kind: 'completed', countedBy: 'estimate', usage: { promptTokens: 6 } },
    ]);
  });

  it('are aborted when the caller leaves', async () => {
    const run = start(embeddingModel({ maxInputs: 1 }), { isAnswering: true, reaches: true });
    const exchange = send(run, { input: inputs(6) });
    const calls = await Promise.all([0, 1, 2, 3].map((at) => run.upstream.called(at)));
    answerInputs(calls[0] as FakeCall);
    await run.upstream.called(4);
    exchange.leave();
    await settle();
    expect(run.upstream.calls.slice(1).every((call) => call.aborted())).toBe(true);
    expect(run.store.outcomes).toMatchObject([{ kind: 'cancelled' }]);
    await expectClean(run, 1);
  });
});

describe('a large answer', () => {
  const dimensions = 20_000;
  const inputs = ['1', '2', '3', '4'];
  const vector = (first: number) => [first, ...Array.from({ length: dimensions - 1 }, (_, at) => at / 7)];
  async function sendLarge() {
    const run = start(embeddingModel({ dimensions }));
    const exchange = send(run, { input: inputs });
    const engine = await run.upstream.called(0);
    exchange.fill();
    engine.answer(json, listOf(inputs.map((text) => vector(Number(text)))));
    await settle();
    return { run, exchange };
  }

  it('is sent as fast as its caller takes it', async () => {
    const { run, exchange } = await sendLarge();
    const sent: number[] = [];
    for (let turn = 0; turn < inputs.length; turn += 1) {
      sent.push(exchange.text().length);
      exchange.drain();
      exchange.fill();
      await settle();
    }
    exchange.drain();
    await exchange.answered;
    expect(sent.every((length, at) => at === 0 || length > (sent[at - 1] ?? 0))).toBe(true);
    expect(sent[0]).toBeLessThan(exchange.text().length / 3);
    const { data } = bodyOf(exchange) as { data: readonly { embedding: readonly number[] }[] };
    expect(data.map(({ embedding }) => embedding)).toEqual(inputs.map((text) => vector(Number(text))));
    expect([exchange.beginnings(), exchange.endings()]).toEqual([1, 1]);
    await expectClean(run, 1);
  });

  it('ends when its caller leaves, and is billed', async () => {
    const { run, exchange } = await sendLarge();
    exchange.leave();
    await expectClean(run, 1);
    expect(run.store.outcomes).toMatchObject([{ kind: 'completed', usage: { promptTokens: 5 } }]);
  });
});

it('a key without permission for the model cannot use it', async () => {
  const run = start(embeddingModel(), { credential: credentialOf({ key: { models: ['demo/tiny'] } }) });
  const exchange = send(run, { input: 'x' });
  await exchange.answered;
  expect(exchange.status()).toBe(400);
  expect(run.refusals).toMatchObject([{ code: 'model_not_found' }]);
});
