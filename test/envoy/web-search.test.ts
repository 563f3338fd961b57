// @suite waits long
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Anthropic from '@anthropic-ai/sdk';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type ProgrammableEngine, startProgrammableEngine } from '../programmable-engine/engine.ts';
import { canary, startWeir, type Weir } from '../support/weir.ts';
import { type SearchServer, startSearchServer, usualPages } from './support/search-server.ts';

type Json = Readonly<Record<string, unknown>>;
type Block = Anthropic.ContentBlock;
type Params = Anthropic.MessageCreateParamsNonStreaming;

let engines: readonly [ProgrammableEngine, ProgrammableEngine];
let search: SearchServer;
let weir: Weir;
let client: Anthropic;
let folder: string;
/** One key on each line. */
let keyFile: string;
const firstKey = randomBytes(32).toString('base64');

/** USD, of one search. */
const price = 0.005;
const tool = { type: 'web_search_20250305', name: 'web_search' } as const;
const weather: Anthropic.Tool = {
  name: 'weather',
  input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};

beforeAll(async () => {
  engines = [await startProgrammableEngine({ name: 'alpha' }), await startProgrammableEngine({ name: 'beta' })];
  search = await startSearchServer();
  folder = await mkdtemp(join(tmpdir(), 'weir-keys-'));
  keyFile = join(folder, 'seal.key');
  await writeFile(keyFile, firstKey);
  weir = await startWeir({
    engines,
    unlimited: true,
    env: {
      WEIR_WEB_SEARCH: `searxng:${search.url}`,
      WEIR_WEB_SEARCH_PRICE: String(price),
      WEIR_SEAL_KEY_FILE: keyFile,
    },
  });
  client = new Anthropic({ apiKey: weir.key, baseURL: weir.origin, maxRetries: 0, fetch: weir.fetch });
});
beforeEach(() => {
  search.reset();
  for (const engine of engines) engine.reset();
});
afterAll(async () => {
  await weir.close();
  await search.close();
  await rm(folder, { recursive: true });
  for (const engine of engines) await engine.close();
});

interface Step {
  readonly say?: string;
  readonly call?: readonly { readonly name: string; readonly arguments?: unknown }[];
}

const find = (query: string) => ({ name: 'web_search', arguments: { query } });

/** A question whose answer is told in advance, over as many calls of the model as there are steps. */
const question = (steps: readonly Step[], more: Json = {}): Anthropic.MessageParam => ({
  role: 'user',
  content: `${canary} What is it? [[demo ${JSON.stringify({ reasoning: 'never', script: steps, ...more })}]]`,
});

const ask = (steps: readonly Step[], more: Partial<Params> = {}): Params => ({
  model: 'test/model',
  max_tokens: 2000,
  tools: [tool],
  messages: [question(steps)],
  ...more,
});

const typesOf = (content: readonly Block[]): readonly string[] => content.map(({ type }) => type);
const textOf = (content: readonly Block[]): string =>
  content.map((block) => (block.type === 'text' ? block.text : '')).join('');
const costOf = (message: Anthropic.Message): number => (message.usage as unknown as { readonly cost: number }).cost;
const searchesOf = (message: Anthropic.Message): number | undefined =>
  message.usage.server_tool_use?.web_search_requests;
const errorsOf = (content: readonly Block[]): readonly string[] =>
  content.flatMap((block) =>
    block.type === 'web_search_tool_result' && 'error_code' in block.content ? [block.content.error_code] : [],
  );

/** What the engines were asked by one request, in order. */
const bodies = (): readonly Json[] =>
  engines
    .flatMap((engine) => engine.requests())
    .toSorted((a, b) => a.receivedAt - b.receivedAt)
    .map(({ body }) => body as Json);

const told = [
  { call: [find('the answer')] },
  { say: 'It is known. The answer is 41 [cite:1]. Or 42, says b [cite:2].' },
];

describe('one search', () => {
  test('is made in the middle of an answer, streamed with citations', async () => {
    const stream = client.messages.stream(ask(told));
    const cited: string[] = [];
    stream.on('citation', (citation) => cited.push('url' in citation ? citation.url : ''));
    const message = await stream.finalMessage();
    expect(typesOf(message.content)).toEqual([
      'server_tool_use',
      'web_search_tool_result',
      'text',
      'text',
      'text',
      'text',
      'text',
    ]);
    const [call, result, , first] = message.content;
    expect(call).toMatchObject({
      name: 'web_search',
      input: { query: 'the answer' },
      id: expect.stringMatching(/^srvtoolu_\w+$/),
    });
    expect(result).toMatchObject({
      tool_use_id: (call as { readonly id: string }).id,
      content: [
        {
          type: 'web_search_result',
          url: 'https://a.example/the%20answer',
          title: 'Page a on the answer',
          page_age: '2026-01-31',
        },
        {
          type: 'web_search_result',
          url: 'https://b.example/the%20answer',
          title: 'Page b on the answer',
          page_age: null,
        },
      ],
    });
    expect(first).toMatchObject({
      text: 'The answer is 41',
      citations: [
        {
          type: 'web_search_result_location',
          url: 'https://a.example/the%20answer',
          title: 'Page a on the answer',
          cited_text: 'The answer is 41, says a.',
        },
      ],
    });
    expect(textOf(message.content)).toBe('It is known. The answer is 41. Or 42, says b.');
    expect(cited).toEqual(['https://a.example/the%20answer', 'https://b.example/the%20answer']);
    expect(message.stop_reason).toBe('end_turn');
    expect(search.asked().map((form) => form.get('q'))).toEqual(['the answer']);
  });

  test('is the same in one piece', async () => {
    const streamed = await client.messages.stream(ask(told)).finalMessage();
    const whole = await client.messages.create(ask(told));
    const comparable = (message: Anthropic.Message): unknown =>
      JSON.parse(
        JSON.stringify({ ...message, id: '' }, (key, value: unknown) =>
          /^(encrypted_\w+|id|tool_use_id|cache_read_input_tokens|input_tokens|cost)$/.test(key) || value === null
            ? undefined
            : value,
        ),
      );
    expect(comparable(whole)).toEqual(comparable(streamed));
  });

  test('is billed once: all calls of the model and the search, in one row', async () => {
    const message = await client.messages.create(ask(told));
    const { usage } = message;
    expect(bodies()).toHaveLength(2);
    const rows = (await weir.ledger()).filter((each) => each['id'] === message.id);
    expect(rows).toMatchObject([
      { surface: 'messages', outcome: 'completed', counted_by: 'engine', web_searches: 1, attempts: 2 },
    ]);
    expect(searchesOf(message)).toBe(1);
    const tokens =
      (usage.input_tokens * 15 + (usage.cache_read_input_tokens ?? 0) * 3 + usage.output_tokens * 60) / 1e8;
    expect(costOf(message)).toBeCloseTo(tokens + price, 12);
    expect(Number(rows[0]?.['cost'])).toBeCloseTo(costOf(message), 12);
  });

  test('tells the model what was found, and how to cite it', async () => {
    await client.messages.create(ask(told));
    const [first, second] = bodies();
    expect(first?.['tools']).toMatchObject([{ function: { name: 'web_search', parameters: { required: ['query'] } } }]);
    const messages = second?.['messages'] as readonly Json[];
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
    expect(messages.at(-1)?.['content']).toMatch(
      /^\[cite:1\] Page a on the answer \(2026-01-31\)\nhttps:\/\/a\.example/,
    );
    expect(second?.['max_tokens']).toBeLessThan(2000);
  });
});

describe('many searches', () => {
  test('a model that never stops asking is stopped', async () => {
    const message = await client.messages
      .stream(ask([{ call: [find('again')] }], { max_tokens: 100_000 }))
      .finalMessage();
    expect(message.stop_reason).toBe('end_turn');
    expect(search.asked()).toHaveLength(20);
    expect(searchesOf(message)).toBe(20);
    expect(bodies().length).toBeLessThanOrEqual(30);
  });
});

describe('what may be found', () => {
  test('the model is told where its user is', async () => {
    await client.messages.create(
      ask(told, {
        tools: [
          {
            ...tool,
            user_location: { type: 'approximate' as const, city: 'Zürich', country: 'ch', timezone: 'Europe/Zurich' },
          },
        ],
      }),
    );
    expect(JSON.stringify(bodies()[0]?.['tools'])).toContain('The user is in Zürich, CH (time zone Europe/Zurich).');
  });

  test.each<readonly [string, Json, string]>([
    [
      'both lists',
      { allowed_domains: ['a.example'], blocked_domains: ['b.example'] },
      'tools[0].blocked_domains: expected either',
    ],
    [
      'no site',
      { allowed_domains: ['https://a.example'] },
      'tools[0].allowed_domains[0]: expected a site such as example.com',
    ],
    ['no count', { max_uses: 0 }, 'tools[0].max_uses: '],
    [
      'no country',
      { user_location: { type: 'approximate', country: 'Switzerland' } },
      'tools[0].user_location.country: expected a country of two letters',
    ],
    ['another name', { name: 'search' }, 'tools[0].name: '],
  ])('%s is refused by the name of the field', async (_, wrong, message) => {
    const asked = client.messages.create(ask(told, { tools: [{ ...tool, ...wrong }] }));
    await expect(asked).rejects.toThrow(message);
    await expect(asked).rejects.toBeInstanceOf(Anthropic.BadRequestError);
  });

  test('a function of the same name beside the search is refused', async () => {
    const asked = client.messages.create(
      ask(told, {
        tools: [
          { name: 'web_search', input_schema: { type: 'object' } },
          { ...tool, type: 'web_search_20260318' } as unknown as Anthropic.Tool,
        ],
      }),
    );
    await expect(asked).rejects.toMatchObject({ status: 400, error: { error: { code: 'web_search_name_reserved' } } });
  });

  test('without the search, a function of that name is the caller’s own', async () => {
    const message = await client.messages.create(
      ask([{ call: [find('mine')] }], { tools: [{ name: 'web_search', input_schema: { type: 'object' } }] }),
    );
    expect(message.content).toMatchObject([{ type: 'tool_use', name: 'web_search', input: { query: 'mine' } }]);
    expect(search.asked()).toHaveLength(0);
  });
});

describe('a provider that', () => {
  test.each([
    ['is down', { kind: 'reset' }, 'unavailable', 2],
    ['fails', { kind: 'status', status: 500 }, 'unavailable', 2],
    ['answers with a web page', { kind: 'text', text: '<html>' }, 'unavailable', 2],
    ['refuses us', { kind: 'status', status: 403 }, 'unavailable', 1],
    ['has had too much', { kind: 'status', status: 429 }, 'too_many_requests', 1],
  ] as const)('%s is an error in a good answer, and costs nothing', async (_, wrong, code, times) => {
    search.answer(wrong);
    const message = await client.messages.stream(ask([told[0] ?? {}, { say: 'I could not search.' }])).finalMessage();
    expect(errorsOf(message.content)).toEqual([code]);
    expect(search.asked()).toHaveLength(times);
    expect(searchesOf(message)).toBe(0);
    expect(textOf(message.content)).toBe('I could not search.');
  });
});

describe('a call of the search that', () => {
  test.each([
    ['has no query', {}, 'invalid_tool_input'],
    ['is no JSON', '{"query": "un', 'invalid_tool_input'],
    ['pastes a text', { query: 'x'.repeat(500) }, 'query_too_long'],
  ])('%s is an error that the model can mend', async (_, wrong, code) => {
    const message = await client.messages
      .stream(ask([{ call: [{ name: 'web_search', arguments: wrong }] }, ...told]))
      .finalMessage();
    expect(errorsOf(message.content)).toEqual([code]);
    expect(searchesOf(message)).toBe(1);
    expect(textOf(message.content)).toBe('It is known. The answer is 41. Or 42, says b.');
  });
});

describe('the next turn', () => {
  const turn = async (): Promise<Anthropic.Message> => client.messages.stream(ask(told)).finalMessage();
  const next = (
    content: readonly Block[] | readonly unknown[],
    steps: readonly Step[],
    more: Partial<Params> = {},
  ): Params =>
    ask([], {
      messages: [
        question(told),
        { role: 'assistant', content: content as Anthropic.ContentBlockParam[] },
        question(steps),
      ],
      ...more,
    });

  test('has what was found before it, as the model had read it, and may cite it', async () => {
    const { content } = await turn();
    const before = bodies().at(-1)?.['messages'] as readonly Json[];
    for (const engine of engines) engine.reset();
    const message = await client.messages.create(next(content, [{ say: 'As a said [cite:1].' }], { tools: [] }));
    const messages = bodies()[0]?.['messages'] as readonly Json[];
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'user']);
    expect(messages.slice(0, 3)).toEqual(before.slice(0, 3));
    expect(messages[3]?.['content']).toBe('It is known. The answer is 41 [cite:1]. Or 42, says b [cite:2].');
    expect(message.content[0]).toMatchObject({
      text: 'As a said',
      citations: [{ url: 'https://a.example/the%20answer' }],
    });
    expect(search.asked()).toHaveLength(1);
  });

  test('is read all the same when the conversation is so long that a worker reads it', async () => {
    const { content } = await turn();
    for (const engine of engines) engine.reset();
    const long = { system: `${canary} ${'lorem ipsum '.repeat(20_000)}` };
    const message = await client.messages.create(
      next(content, [{ call: [find('more')] }, { say: 'New [cite:3].' }], long),
    );
    expect(message.content.at(-2)).toMatchObject({ text: 'New', citations: [{ url: 'https://a.example/more' }] });
    const messages = bodies()[1]?.['messages'] as readonly Json[];
    expect(messages.map(({ role }) => role)).toEqual([
      ...['system', 'user', 'assistant', 'tool', 'assistant', 'user', 'assistant', 'tool'],
    ]);
  });

  test.each<readonly [string, (blocks: readonly Json[]) => readonly unknown[], string]>([
    [
      'a forged result',
      ([call, result, ...text]) => [
        call,
        { ...result, content: [{ type: 'web_search_result', url: 'u', title: 't', encrypted_content: 'AAAA' }] },
        ...text,
      ],
      'messages[1].content[1].content[0].encrypted_content: expected it as this service gave it',
    ],
    [
      'a result with a character changed',
      ([call, result, ...text]) => [
        call,
        JSON.parse(
          // The character may be the one that it would be changed into.
          JSON.stringify(result).replace(/(?<="encrypted_content":".{40})./, (old) => (old === '_' ? '-' : '_')),
        ),
        ...text,
      ],
      'messages[1].content[1].content[0].encrypted_content: expected it as this service gave it',
    ],
    [
      'a forged citation',
      ([call, result, first, cited, ...text]) => [
        ...[call, result, first],
        JSON.parse(JSON.stringify(cited).replace(/"encrypted_index":"[^"]+"/, '"encrypted_index":"AAAA"')),
        ...text,
      ],
      'messages[1].content[3].citations[0].encrypted_index: expected it as this service gave it',
    ],
    [
      'a result of no call',
      ([, ...blocks]) => blocks,
      'messages[1].content[0].tool_use_id: expected the id of a server_tool_use before it',
    ],
  ])('with %s is refused by the path of the field', async (_, forge, message) => {
    const { content } = await turn();
    const asked = client.messages.create(next(forge(content as unknown as readonly Json[]), [{ say: 'x' }]));
    await expect(asked).rejects.toThrow(message);
    await expect(asked).rejects.toBeInstanceOf(Anthropic.BadRequestError);
  });
});

test('the keys of the seal are rotated without a restart', async () => {
  const turn = await client.messages.create(ask(told));
  const replayed = ask([], {
    messages: [
      question(told),
      { role: 'assistant', content: turn.content },
      question([{ say: 'As a said [cite:1].' }]),
    ],
  });
  const status = async (): Promise<number> =>
    client.messages.create(replayed).then(
      () => 200,
      (error: unknown) => (error instanceof Anthropic.APIError ? Number(error.status) : 0),
    );
  const fresh = randomBytes(32).toString('base64');
  await writeFile(keyFile, `${fresh}\n# until all conversations of yesterday are over\n${firstKey}\n`);
  expect(await status()).toBe(200);
  await writeFile(keyFile, `${fresh}\n`);
  await expect.poll(status).toBe(400);
  await writeFile(keyFile, `${firstKey}\n`);
  await expect.poll(status).toBe(200);
}, 30_000);

describe('beside the search', () => {
  test('a tool of the caller’s ends the turn once the results are in, and the next turn goes on', async () => {
    const steps = [
      { call: [find('one'), { name: 'weather', arguments: { city: 'Bern' } }] },
      { say: 'Rain [cite:1].' },
    ];
    const message = await client.messages.stream(ask(steps, { tools: [tool, weather] })).finalMessage();
    expect(typesOf(message.content).toSorted()).toEqual(['server_tool_use', 'tool_use', 'web_search_tool_result']);
    expect(message.stop_reason).toBe('tool_use');
    const call = message.content.find((block) => block.type === 'tool_use');
    expect(call).toMatchObject({ name: 'weather', input: { city: 'Bern' } });
    for (const engine of engines) engine.reset();
    const last = await client.messages.create(
      ask(steps, {
        tools: [tool, weather],
        messages: [
          question(steps),
          { role: 'assistant', content: message.content },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: call?.id ?? '', content: `${canary} rain` }] },
        ],
      }),
    );
    const messages = bodies()[0]?.['messages'] as readonly Json[];
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool']);
    expect(textOf(last.content)).toBe('Rain.');
  });

  test('a forced search is forced once', async () => {
    const message = await client.messages.create(ask(told, { tool_choice: { type: 'tool', name: 'web_search' } }));
    expect(bodies().map((body) => body['tool_choice'])).toEqual([
      { type: 'function', function: { name: 'web_search' } },
      undefined,
    ]);
    expect(message.stop_reason).toBe('end_turn');
  });

  test('the output cap is for the whole answer', async () => {
    const message = await client.messages.create(
      ask([told[0] ?? {}, { say: 'word '.repeat(200) }], { max_tokens: 50 }),
    );
    expect(message.stop_reason).toBe('max_tokens');
    expect(message.usage.output_tokens).toBe(50);
  });

  test('JSON of a schema comes without marks', async () => {
    const schema = {
      type: 'object',
      properties: { answer: { type: 'string' } },
      required: ['answer'],
      additionalProperties: false,
    };
    const message = await client.messages.create(
      ask([told[0] ?? {}, { say: '{"answer":"41"}' }], { output_config: { format: { type: 'json_schema', schema } } }),
    );
    expect(textOf(message.content)).toBe('{"answer":"41"}');
    expect(JSON.stringify(bodies())).not.toContain('cite:');
  });
});

describe('when something goes wrong', () => {
  test('an engine that is cut in the middle of the loop is taken over from', async () => {
    const reference = await client.messages.create(ask(told));
    for (const at of [1, 2, 4, 8]) {
      for (const engine of engines) engine.reset();
      engines[0].set({ cutAfterEvents: at, times: 1 });
      const message = await client.messages.stream(ask(told)).finalMessage();
      expect(textOf(message.content), `cut after ${at}`).toBe(textOf(reference.content));
      expect(typesOf(message.content)).toEqual(typesOf(reference.content));
      expect(message.usage.output_tokens).toBe(reference.usage.output_tokens);
      expect(searchesOf(message)).toBe(1);
    }
  });

  test.each([true, false])(
    'no engine completes the first search call, and none counts (stream: %s): a 502 that bills nothing',
    async (stream) => {
      for (const engine of engines) engine.set({ cutAfterEvents: 3, usage: 'absent' });
      await expect(client.messages.create({ ...ask([told[0] ?? {}]), stream })).rejects.toMatchObject({ status: 502 });
      await weir.settled();
      const [row] = await weir.ledger();
      expect(row).toMatchObject({ outcome: 'failed', cost: '0' });
    },
    30_000,
  );

  test('an engine that is away when it is asked again is taken over from', async () => {
    const stream = client.messages.stream(ask(told));
    search.answer({ kind: 'silence' }, { kind: 'pages', pages: usualPages });
    await search.until(1);
    engines[0].set({ status: 503 });
    const message = await stream.finalMessage();
    expect(textOf(message.content)).toBe('It is known. The answer is 41. Or 42, says b.');
  }, 30_000);

  test('no engine left after the search: the stream is interrupted, a whole answer fails', async () => {
    const broken = [told[0] ?? {}, {}];
    for (const stream of [true, false]) {
      search.reset();
      search.answer({ kind: 'silence' }, { kind: 'pages', pages: usualPages });
      for (const engine of engines) engine.reset();
      const asked = client.messages.create({ ...ask(broken), stream });
      const ended = asked.then(async (answer) => {
        if (Symbol.asyncIterator in answer) for await (const _ of answer);
      });
      await search.until(1);
      for (const engine of engines) engine.set({ status: 500 });
      await expect(ended).rejects.toThrow(stream ? /interrupted/ : /No attempt/);
    }
    await weir.settled();
    const [last, before] = await weir.ledger();
    expect([last, before].map((row) => row?.['outcome'])).toEqual(['failed', 'interrupted']);
    expect(last?.['cost']).toBe('0');
  }, 60_000);

  test('a caller that leaves while the web is searched ends the search, and pays for what it got', async () => {
    const first = { say: 'Let me see.', call: [find('slow')] };
    // The same, and one token more.
    const { usage } = await client.messages.create(ask([first, { say: 'So' }]));
    search.reset();
    search.answer({ kind: 'silence' });
    const stream = client.messages.stream(ask([first, { say: 'So' }]));
    const { id } = await new Promise<Anthropic.Message>((resolve) =>
      stream.once('streamEvent', (_, message) => resolve(message)),
    );
    await search.until(1);
    stream.abort();
    await expect(stream.finalMessage()).rejects.toThrow('aborted');
    await expect.poll(() => search.aborted()).toBe(1);
    await weir.settled();
    const row = (await weir.ledger()).find((each) => each['id'] === id);
    expect(row).toMatchObject({
      ...{ outcome: 'cancelled', web_searches: 0, counted_by: 'engine' },
      completion_tokens: usage.output_tokens - 1,
    });
    expect(Number(row?.['cost'])).toBeGreaterThan(0);
    expect(Number(row?.['cost'])).toBeLessThan(price);
  });
});

test('the price of a search stands beside those of the tokens', async () => {
  const { data } = (await (await weir.fetch(`${weir.baseUrl}/models`)).json()) as {
    readonly data: readonly { readonly pricing: Json }[];
  };
  expect(data[0]?.pricing).toMatchObject({ web_search: '0.005' });
});
