import type Anthropic from '@anthropic-ai/sdk';
import { APIUserAbortError } from '@anthropic-ai/sdk';
import { beforeEach, describe, expect, test } from 'vitest';
import { startProgrammableEngine } from '../programmable-engine/engine.ts';
import { backendManifest, canary, modelManifest, startWeir } from '../support/weir.ts';
import { forFile } from '../support/for-file.ts';

type Ask = Anthropic.MessageCreateParamsNonStreaming;

const engine = await forFile(startProgrammableEngine({ name: 'alpha' }));
const images = '  inputModalities: [text, image]';
const manifest = [
  backendManifest('backend-of-test-0', engine),
  modelManifest('test/model', ['backend-of-test-0']),
  modelManifest('test/seeing', ['backend-of-test-0'], images),
];
const weir = await forFile(startWeir({ engines: [engine], manifests: { 'catalog.yaml': manifest.join('') } }));
beforeEach(() => engine.reset());

const ask = (text: string, more: Partial<Ask> = {}): Ask => ({
  ...{ model: 'test/model', max_tokens: 4096, messages: [{ role: 'user', content: `${canary} ${text}` }] },
  ...more,
});
const schema = (field: string) => ({
  type: 'object' as const,
  properties: { [field]: { type: 'string' } },
  required: [field],
});
const tools = [
  { name: 'get_weather', description: 'Tells the weather.', input_schema: schema('city') },
  { name: 'get_time', input_schema: schema('place') },
];

/** What the engine was asked last. */
const asked = () =>
  engine.requests().at(-1)?.body as { readonly messages: readonly Readonly<Record<string, unknown>>[] } & Readonly<
    Record<string, unknown>
  >;

/** The extra field that no client library has a type for. */
const costOf = (usage: object): unknown => (usage as { readonly cost?: unknown }).cost;

test('a client gets a whole message in its shape, with usage and its exact cost', async () => {
  const { data, response } = await weir.messagesClient().messages.create(ask('Say hello')).withResponse();
  expect(data).toMatchObject({
    type: 'message',
    role: 'assistant',
    model: 'test/model',
    stop_reason: 'end_turn',
    stop_sequence: null,
  });
  expect(data.id).toMatch(/^msg_[\w-]{22}$/);
  const [thinking, text, ...others] = data.content;
  expect(thinking).toMatchObject({
    type: 'thinking',
    thinking: expect.stringMatching(/./) as unknown,
    signature: expect.stringMatching(/./) as unknown,
  });
  expect(text).toMatchObject({ type: 'text', text: expect.stringMatching(/./) as unknown });
  expect(others).toEqual([]);
  const { input_tokens: input, cache_read_input_tokens: cached, output_tokens: output } = data.usage;
  const cost = BigInt(input) * 150_000n + BigInt(cached ?? 0) * 30_000n + BigInt(output) * 600_000n;
  expect(costOf(data.usage)).toBe(Number(`${cost}e-12`));
  expect(data.usage.cache_creation_input_tokens).toBe(0);
  expect(response.headers.get('x-ratelimit-limit-requests')).toBeTruthy();
  const rows = await weir.ledger();
  expect(rows.find(({ id }) => id === data.id)).toMatchObject({
    surface: 'messages',
    outcome: 'completed',
    completion_tokens: output,
  });
});

test('cached input is counted beside the rest, and costs less', async () => {
  engine.set({ cachedTokens: 7 });
  const { usage } = await weir
    .messagesClient()
    .messages.create(ask('A question that is long enough to be cached in part.'));
  expect(usage.cache_read_input_tokens).toBe(7);
  const chatted = await weir.client().chat.completions.create({
    model: 'test/model',
    messages: [{ role: 'user', content: `${canary} A question that is long enough to be cached in part.` }],
  });
  expect(usage.input_tokens + 7).toBe(chatted.usage?.prompt_tokens);
});

test('the stream helper puts together the message that comes in one piece', async () => {
  engine.set({ cachedTokens: 3 });
  const whole = await weir.messagesClient().messages.create(ask('Tell me about rivers [[words=40]]'));
  const stream = weir.messagesClient().messages.stream(ask('Tell me about rivers [[words=40]]'));
  const heard = { text: '', thinking: '', blocks: 0 };
  stream.on('text', (delta) => (heard.text += delta));
  stream.on('thinking', (delta) => (heard.thinking += delta));
  stream.on('contentBlock', () => (heard.blocks += 1));
  const final = await stream.finalMessage();
  expect(final).toMatchObject({ stop_reason: 'end_turn', stop_sequence: null, model: 'test/model' });
  const bare = (blocks: readonly Anthropic.ContentBlock[]) =>
    blocks.map((block) => (block.type === 'thinking' ? { ...block, signature: '' } : block));
  expect(bare(final.content)).toEqual(bare(whole.content));
  expect(final.content).toMatchObject([{ thinking: heard.thinking }, { text: heard.text }]);
  expect(heard.blocks).toBe(2);
  expect(await stream.finalText()).toBe(heard.text);
  const { cost: _, ...counts } = whole.usage as Anthropic.Usage & { readonly cost: number };
  expect(final.usage).toMatchObject(counts);
});

test('the events of a stream come in the order that the contract names', async () => {
  const events: string[] = [];
  const stream = await weir
    .messagesClient()
    .messages.create({ ...ask('hi', { thinking: { type: 'disabled' } }), stream: true });
  let cost: unknown;
  for await (const event of stream) {
    if (events.at(-1) !== event.type) events.push(event.type);
    if (event.type === 'message_delta') cost = costOf(event.usage);
  }
  expect(events).toEqual([
    ...['message_start', 'content_block_start', 'content_block_delta', 'content_block_stop'],
    ...['message_delta', 'message_stop'],
  ]);
  expect(cost).toEqual(expect.any(Number));
});

/** Answers each call of a turn. */
const resultsOf = (content: readonly Anthropic.ContentBlock[]): Anthropic.ToolResultBlockParam[] =>
  content.flatMap((block, at) => {
    if (block.type !== 'tool_use') return [];
    const said = [{ type: 'text' as const, text: `${canary} answer ${at} of ${block.name}` }];
    return [
      {
        type: 'tool_result' as const,
        tool_use_id: block.id,
        content: at % 2 === 0 ? said : (said[0]?.text ?? ''),
        is_error: at === 2,
      },
    ];
  });

test.each([false, true])('a loop of five turns with calls side by side, stream: %s', async (stream) => {
  const client = weir.messagesClient();
  const messages: Anthropic.MessageParam[] = [{ role: 'user', content: `${canary} get_weather and get_time, please.` }];
  const system = [
    { type: 'text' as const, text: `${canary} Be brief.`, cache_control: { type: 'ephemeral' as const } },
  ];
  for (let turn = 0; turn < 5; turn += 1) {
    engine.set({
      callTools: turn % 2 === 0 ? ['get_weather', 'get_time', 'get_weather'] : ['get_time'],
      toolPreamble: turn === 1,
    });
    const params: Ask = { model: 'test/model', max_tokens: 4096, system, messages, tools };
    const message = stream ? await client.messages.stream(params).finalMessage() : await client.messages.create(params);
    expect(message.stop_reason).toBe('tool_use');
    const calls = message.content.filter((block) => block.type === 'tool_use');
    expect(calls.map(({ name }) => name)).toEqual(
      turn % 2 === 0 ? ['get_weather', 'get_time', 'get_weather'] : ['get_time'],
    );
    expect(new Set(calls.map(({ id }) => id)).size).toBe(calls.length);
    for (const { id, name, input } of calls) {
      expect(id).toMatch(/^toolu_[\w-]{22,}$/);
      expect(input).toHaveProperty(name === 'get_time' ? 'place' : 'city');
    }
    expect(message.content.some(({ type }) => type === 'text')).toBe(turn === 1);
    messages.push(
      { role: 'assistant', content: message.content },
      { role: 'user', content: resultsOf(message.content) },
    );
  }
  engine.set({ words: 12 });
  const last = await client.messages.create({
    model: 'test/model',
    max_tokens: 4096,
    system,
    messages,
    tools,
    tool_choice: { type: 'auto' },
  });
  expect(last.stop_reason).toBe('end_turn');
  const { messages: sent } = asked();
  expect(sent[0]).toEqual({ role: 'system', content: `${canary} Be brief.` });
  const roles = sent.map(({ role }) => role);
  const turns = [3, 1, 3, 1, 3].flatMap((calls) => ['assistant', ...Array.from({ length: calls }, () => 'tool')]);
  expect(roles).toEqual(['system', 'user', ...turns]);
  const used = messages.flatMap(({ role, content }) => (role === 'assistant' && Array.isArray(content) ? content : []));
  // The engine gets its own ids back, which the caller has never seen.
  const ids = sent.flatMap(({ tool_calls: calls }) => ((calls ?? []) as { id: string }[]).map(({ id }) => id));
  expect(sent.flatMap(({ tool_call_id: id }) => id ?? [])).toEqual(ids);
  expect(ids.filter((id) => JSON.stringify(messages).includes(id))).toEqual([]);
  // Thinking goes back to the model exactly as it came.
  const thoughts = used.flatMap((block) => (block.type === 'thinking' ? [block.thinking] : []));
  expect(thoughts).toHaveLength(5);
  expect(sent.filter(({ role }) => role === 'assistant').map(({ reasoning }) => reasoning)).toEqual(thoughts);
  expect(JSON.stringify(sent)).not.toContain('signature');
  expect(JSON.stringify(asked())).not.toContain('cache_control');
});

test.each([
  [{ type: 'any' as const }, 'required'],
  [
    { type: 'tool' as const, name: 'get_time' },
    { type: 'function', function: { name: 'get_time' } },
  ],
  [{ type: 'auto' as const, disable_parallel_tool_use: true }, undefined],
])('tool_choice %j', async (choice, sent) => {
  engine.set({ callTools: ['get_time'] });
  const message = await weir.messagesClient().messages.create(ask('What time is it?', { tools, tool_choice: choice }));
  expect(message.content.at(-1)).toMatchObject({ type: 'tool_use', name: 'get_time' });
  expect(asked()['tool_choice']).toEqual(sent);
  expect(asked()['parallel_tool_calls']).toBe('disable_parallel_tool_use' in choice ? false : undefined);
});

test('images reach a model that sees, those of a tool, too; one that does not see refuses them', async () => {
  const image = {
    type: 'image' as const,
    source: { type: 'base64' as const, media_type: 'image/png' as const, data: 'iVBORw0KGgo=' },
  };
  const messages: Anthropic.MessageParam[] = [
    { role: 'user', content: [{ type: 'text', text: `${canary} What is it?` }, image] },
    { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'get_time', input: { place: canary } }] },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'toolu_1', content: [image] },
        { type: 'text', text: `${canary} And now?` },
      ],
    },
  ];
  const client = weir.messagesClient();
  const seen = await client.messages.create({ model: 'test/seeing', max_tokens: 100, tools, messages });
  expect(seen.content).not.toEqual([]);
  const url = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } };
  const sent = asked().messages;
  expect(sent[0]?.['content']).toEqual([{ type: 'text', text: `${canary} What is it?` }, url]);
  expect(sent[2]).toMatchObject({
    role: 'tool',
    tool_call_id: 'toolu_1',
    content: 'The result is shown in the next message.',
  });
  expect(sent[3]?.['content']).toEqual([
    { type: 'text', text: 'Result of the tool call toolu_1:' },
    url,
    { type: 'text', text: '\n\n' },
    { type: 'text', text: `${canary} And now?` },
  ]);
  await expect(client.messages.create({ model: 'test/model', max_tokens: 100, messages })).rejects.toMatchObject({
    ...{
      status: 400,
      error: { type: 'error', error: { type: 'invalid_request_error', code: 'modality_not_supported' } },
    },
  });
});

describe('thinking', () => {
  test.each<readonly [string, Partial<Ask>, object]>([
    ['omitted: at its deepest', {}, { reasoning_effort: 'max' }],
    ['adaptive', { thinking: { type: 'adaptive' } }, { reasoning_effort: 'max' }],
    ['with a budget', { thinking: { type: 'enabled', budget_tokens: 2048 } }, { thinking_token_budget: 2048 }],
    ['with an effort', { output_config: { effort: 'low' } }, { reasoning_effort: 'low' }],
  ])('%s', async (_, fields, sent) => {
    const message = await weir.messagesClient().messages.create(ask('Why?', fields));
    expect(message.content.map(({ type }) => type)).toEqual(['thinking', 'text']);
    expect(asked()).toMatchObject(sent);
  });

  test('disabled: there is none', async () => {
    const message = await weir.messagesClient().messages.create(ask('Why?', { thinking: { type: 'disabled' } }));
    expect(message.content.map(({ type }) => type)).toEqual(['text']);
    expect(asked()).toMatchObject({ chat_template_kwargs: { enable_thinking: false } });
  });

  test('counts as output, and is told apart where the engine does', async () => {
    const { usage } = await weir.messagesClient().messages.create(ask('Why?'));
    expect(usage.output_tokens_details?.thinking_tokens).toBeGreaterThan(0);
    expect(usage.output_tokens).toBeGreaterThan(usage.output_tokens_details?.thinking_tokens ?? Infinity);
  });
});

describe('an answer ends', () => {
  const quiet = { thinking: { type: 'disabled' as const } };
  test.each([false, true])('at a stop sequence, and says which, stream: %s', async (stream) => {
    engine.set({ content: 'Down it pours to a river.' });
    const params = ask('Tell me.', { ...quiet, stop_sequences: ['sea', ' to a'] });
    const client = weir.messagesClient();
    const message = stream ? await client.messages.stream(params).finalMessage() : await client.messages.create(params);
    expect(message).toMatchObject({
      stop_reason: 'stop_sequence',
      stop_sequence: ' to a',
      content: [{ text: 'Down it pours' }],
    });
  });

  test('at the cap', async () => {
    const message = await weir
      .messagesClient()
      .messages.create(ask('Tell me [[words=100]]', { ...quiet, max_tokens: 5 }));
    expect(message).toMatchObject({ stop_reason: 'max_tokens', usage: { output_tokens: 5 } });
  });

  test.each(['field', 'content-filter'] as const)('in a refusal, which is an ordinary answer (%s)', async (refusal) => {
    engine.set({ refusal });
    const message = await weir.messagesClient().messages.stream(ask('Do harm.', quiet)).finalMessage();
    expect(message.stop_reason).toBe('refusal');
    expect(message.content).toMatchObject([{ type: 'text', text: expect.stringMatching(/./) as unknown }]);
  });
});

test('JSON of a schema is asked for and comes', async () => {
  const format = { type: 'json_schema' as const, schema: { ...schema('name'), additionalProperties: false } };
  const message = await weir
    .messagesClient()
    .messages.create(ask('Who?', { thinking: { type: 'disabled' }, output_config: { format } }));
  const [block] = message.content;
  expect(JSON.parse(block?.type === 'text' ? block.text : '')).toHaveProperty('name');
  expect(asked()['response_format']).toMatchObject({
    type: 'json_schema',
    json_schema: { schema: format.schema, strict: true },
  });
});

test('a stream that is aborted is closed upstream, and what was delivered is billed', async () => {
  engine.set({ tokenDelayMs: 20 });
  const stream = weir.messagesClient().messages.stream(ask('[[words=5000]]', { thinking: { type: 'disabled' } }));
  let deltas = 0;
  stream.on('text', () => {
    if ((deltas += 1) === 5) stream.abort();
  });
  await expect(stream.finalMessage()).rejects.toThrow(APIUserAbortError);
  await engine.until(() => engine.requests().some(({ aborted }) => aborted));
  await weir.settled();
  const row = (await weir.ledger()).find(({ outcome }) => outcome === 'cancelled');
  expect(row).toMatchObject({ surface: 'messages', stream: true });
  expect(Number(row?.['completion_tokens'])).toBeGreaterThanOrEqual(5);
});

test('the id of a request is under the name that its clients read, in an answer, on a stream and in a refusal', async () => {
  const client = weir.messagesClient();
  const whole = await client.messages.create(ask('Say hello'));
  expect(whole._request_id).toMatch(/^[\w-]{36}$/);
  const stream = await client.messages.create({ ...ask('Say hello'), stream: true }).withResponse();
  expect(stream.request_id).toBe(stream.response.headers.get('x-request-id'));
  for await (const _ of stream.data);
  const refused = await client.messages.create(ask('a', { model: 'test/none' })).catch((error: unknown) => error);
  expect((refused as { readonly requestID?: unknown }).requestID).toMatch(/^[\w-]{36}$/);
});

const pdf = { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0x' } as const;
const png = { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } as const;
const reading = (block: NonNullable<Anthropic.ToolResultBlockParam['content']>): Partial<Ask> => ({
  messages: [
    { role: 'user', content: 'Read it' },
    { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'get_weather', input: { city: 'a' } }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: block }] },
  ],
  tools,
});

test('what a tool brought and the model cannot read is told in words, and the conversation goes on', async () => {
  const shown = reading([
    { type: 'document', title: 'Plan', source: pdf },
    { type: 'image', source: png },
  ]);
  const answer = await weir.messagesClient().messages.create(ask('', shown));
  expect(answer.type).toBe('message');
  const words = JSON.stringify(asked().messages);
  expect(words).toContain('A document \\"Plan\\" (application/pdf) stood here');
  expect(words).toContain('An image (image/png) stood here');
  expect(words).not.toContain('iVBO');
  // A model that takes images gets the image.
  await weir.messagesClient().messages.create(ask('', { ...shown, model: 'test/seeing' }));
  expect(JSON.stringify(asked().messages)).toContain('data:image/png;base64,iVBO');
});

test.each([
  ['an image', { type: 'image', source: png }, 'modality_not_supported'],
  ['a PDF', { type: 'document', source: pdf }, 'messages[0].content[0].source.type'],
] as const)('%s in the user’s own turn is refused', async (_, block, message) => {
  const messages = [{ role: 'user' as const, content: [block] }];
  await expect(weir.messagesClient().messages.create(ask('', { messages }))).rejects.toThrow(message);
});

test('a system turn in the middle reaches an engine that takes leading ones only as marked text of the user', async () => {
  const messages = [
    { role: 'user', content: 'a' },
    { role: 'system', content: 'Be brief.' },
  ] as unknown as Ask['messages'];
  await weir.messagesClient().messages.create(ask('', { messages, system: 'Be kind.' }));
  expect(asked().messages).toEqual([
    { role: 'system', content: 'Be kind.' },
    { role: 'user', content: 'a\n\n<system-message>\nBe brief.\n</system-message>' },
  ]);
});
