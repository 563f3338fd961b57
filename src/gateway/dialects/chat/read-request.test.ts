import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Failure } from '../../../core/failure.ts';
import { parameterNames } from '../../../core/parameters.ts';
import type { Request } from '../../../core/request.ts';
import { readRequest } from './read-request.ts';

const user = { role: 'user', content: 'hi' };
const good = { model: 'demo/tiny', messages: [user] };
const weather = { type: 'function', function: { name: 'get_weather', parameters: { type: 'object' } } };
const withMessages = (...messages: readonly unknown[]) => ({ ...good, messages });
const withTool = (tool: unknown) => ({ ...good, tools: [tool] });
const withCall = (call: unknown) => withMessages({ role: 'assistant', tool_calls: [call] });
const withPart = (part: unknown) => withMessages({ role: 'user', content: [part] });
const withFormat = (format: unknown) => ({ ...good, response_format: format });

function failureOf(body: unknown): Failure {
  try {
    readRequest(body);
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
  throw new Error('it was accepted');
}

const bad: readonly (readonly [field: string, body: unknown])[] = [
  ['model', { messages: [user] }],
  ['model', { ...good, model: '' }],
  ['model', { ...good, model: 7 }],
  ['model', { ...good, model: null }],
  ['messages', { model: 'demo/tiny' }],
  ['messages', { ...good, messages: [] }],
  ['messages', { ...good, messages: 'hi' }],
  ['messages', { ...good, messages: null }],
  ['messages[0]', withMessages('hi')],
  ['messages[1]', withMessages(user, null)],
  ['messages[0].role', withMessages({ content: 'hi' })],
  ['messages[1].role', withMessages(user, { role: 'robot', content: 'hi' })],
  ['messages[0].content', withMessages({ role: 'user' })],
  ['messages[0].content', withMessages({ role: 'user', content: null })],
  ['messages[0].content', withMessages({ role: 'user', content: 5 })],
  ['messages[0].content', withMessages({ role: 'user', content: [] })],
  ['messages[0].content', withMessages({ role: 'system', content: {} })],
  ['messages[0].content', withMessages({ role: 'developer' })],
  ['messages[0].content', withMessages({ role: 'tool', tool_call_id: 'a' })],
  ['messages[0].content', withMessages({ role: 'assistant', content: 5 })],
  ['messages[0].name', withMessages({ ...user, name: 5 })],
  ['messages[0].tool_call_id', withMessages({ role: 'tool', content: 'x' })],
  ['messages[0].tool_call_id', withMessages({ role: 'tool', content: 'x', tool_call_id: '' })],
  ['messages[0].reasoning_content', withMessages({ role: 'assistant', content: 'x', reasoning_content: 5 })],
  ['messages[0].reasoning', withMessages({ role: 'assistant', content: 'x', reasoning: {} })],
  ['messages[0].tool_calls', withMessages({ role: 'assistant', tool_calls: {} })],
  ['messages[0].tool_calls[0].id', withCall({ function: { name: 'f', arguments: '{}' } })],
  ['messages[0].tool_calls[0].type', withCall({ id: 'a', type: 'tool', function: { name: 'f', arguments: '{}' } })],
  ['messages[0].tool_calls[0].custom', withCall({ id: 'a', type: 'custom', function: { name: 'f', arguments: '{}' } })],
  ['messages[0].content[0].file.file_data', withPart({ type: 'file', file: { file_id: 'f' } })],
  [
    'messages[0].content[0].file.file_data',
    withPart({ type: 'file', file: { file_data: 'data:application/pdf;base64,JVBE' } }),
  ],
  [
    'messages[0].content[0].file.file_data',
    withPart({ type: 'file', file: { file_data: 'data:text/plain;base64,/w==' } }),
  ],
  ['tools[0].type', withTool({ type: 'web_search' })],
  ['tools[0].custom.format.type', withTool({ type: 'custom', custom: { name: 'f', format: { type: 'grammar' } } })],
  [
    'tool_choice.allowed_tools.tools[0]',
    {
      ...withTool(weather),
      tool_choice: {
        type: 'allowed_tools',
        allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'x' } }] },
      },
    },
  ],
  ['function_call.name', { ...good, functions: [weather.function], function_call: { name: 'x' } }],
  ['messages[0].tool_calls[0].function', withCall({ id: 'a' })],
  ['messages[0].tool_calls[0].function.name', withCall({ id: 'a', function: { arguments: '{}' } })],
  ['messages[0].tool_calls[0].function.arguments', withCall({ id: 'a', function: { name: 'f' } })],
  ['messages[0].tool_calls[0].function.arguments', withCall({ id: 'a', function: { name: 'f', arguments: {} } })],
  ['messages[0].content[0].type', withPart({ text: 'hi' })],
  ['messages[0].content[0].type', withPart({ type: 'input_audio', input_audio: {} })],
  ['messages[0].content[0].text', withPart({ type: 'text' })],
  ['messages[0].content[0].text', withPart({ type: 'text', text: 5 })],
  ['messages[0].content[0].image_url', withPart({ type: 'image_url' })],
  ['messages[0].content[0].image_url', withPart({ type: 'image_url', image_url: '' })],
  ['messages[0].content[0].image_url.url', withPart({ type: 'image_url', image_url: {} })],
  [
    'messages[0].content[0].image_url.detail',
    withPart({ type: 'image_url', image_url: { url: 'https://x', detail: 'huge' } }),
  ],
  ['messages[0].content[0].type', withMessages({ role: 'system', content: [{ type: 'image_url', image_url: 'x' }] })],
  ['stream', { ...good, stream: 'yes' }],
  ['stream_options', { ...good, stream_options: true }],
  ['stream_options.include_usage', { ...good, stream_options: { include_usage: 1 } }],
  ...['max_tokens', 'max_completion_tokens'].flatMap((field) =>
    [0, -1, 1.5, '5', 2e9, true].map((value) => [field, { ...good, [field]: value }] as const),
  ),
  ...[-0.1, 2.1, '1', true].map((value) => ['temperature', { ...good, temperature: value }] as const),
  ...[-0.1, 1.1, '1'].map((value) => ['top_p', { ...good, top_p: value }] as const),
  ...[0, 129, 1.5, '1'].map((value) => ['n', { ...good, n: value }] as const),
  ...[5, '', ['a', 'b', 'c', 'd', 'e']].map((value) => ['stop', { ...good, stop: value }] as const),
  ['stop[1]', { ...good, stop: ['a', 5] }],
  ...[1.5, '1', 2 ** 60].map((value) => ['seed', { ...good, seed: value }] as const),
  ['logprobs', { ...good, logprobs: 5 }],
  ...[-1, 21, 1.5, '1'].map((value) => ['top_logprobs', { ...good, logprobs: true, top_logprobs: value }] as const),
  ['top_logprobs', { ...good, top_logprobs: 5 }],
  ['top_logprobs', { ...good, logprobs: false, top_logprobs: 5 }],
  ['logit_bias', { ...good, logit_bias: [1] }],
  ['logit_bias["50256"]', { ...good, logit_bias: { 50256: -101 } }],
  ...['frequency_penalty', 'presence_penalty'].flatMap((field) =>
    [-2.1, 2.1, '0'].map((value) => [field, { ...good, [field]: value }] as const),
  ),
  ['parallel_tool_calls', { ...good, parallel_tool_calls: 'no' }],
  ...[-2, 1.5, '1'].map((value) => ['top_k', { ...good, top_k: value }] as const),
  ...[-0.1, 1.1].map((value) => ['min_p', { ...good, min_p: value }] as const),
  ...[0, -1, 11].map((value) => ['repetition_penalty', { ...good, repetition_penalty: value }] as const),
  ...[-0.1, 1.1].map((value) => ['top_a', { ...good, top_a: value }] as const),
  ['tools', { ...good, tools: {} }],
  ['tools', { ...good, tools: Array.from({ length: 1025 }, () => weather) }],
  ['tools[0].type', withTool({ type: 'web', function: { name: 'f' } })],
  ['tools[0].function', withTool({ type: 'function' })],
  ['tools[0].function.name', withTool({ type: 'function', function: {} })],
  ['tools[0].function.name', withTool({ type: 'function', function: { name: 'has spaces' } })],
  ['tools[0].function.name', withTool({ type: 'function', function: { name: 'x'.repeat(129) } })],
  ['tools[0].function.description', withTool({ type: 'function', function: { name: 'f', description: 5 } })],
  ['tools[0].function.parameters', withTool({ type: 'function', function: { name: 'f', parameters: 'x' } })],
  ['tools[0].function.strict', withTool({ type: 'function', function: { name: 'f', strict: 'x' } })],
  ['tool_choice', { ...good, tools: [weather], tool_choice: 'some' }],
  ['tool_choice', { ...good, tool_choice: 'required' }],
  ['tool_choice', { ...good, tools: [], tool_choice: 'required' }],
  ['tool_choice.function', { ...good, tools: [weather], tool_choice: { type: 'function' } }],
  [
    'tool_choice.function.name',
    { ...good, tools: [weather], tool_choice: { type: 'function', function: { name: 'other' } } },
  ],
  ['tool_choice.function.name', { ...good, tool_choice: { type: 'function', function: { name: 'get_weather' } } }],
  ['response_format.type', withFormat({})],
  ['response_format.type', withFormat({ type: 'xml' })],
  ['response_format', withFormat('json_object')],
  ['response_format.json_schema', withFormat({ type: 'json_schema' })],
  ['response_format.json_schema.name', withFormat({ type: 'json_schema', json_schema: { schema: {} } })],
  ['response_format.json_schema.schema', withFormat({ type: 'json_schema', json_schema: { name: 'x', schema: [] } })],
];

describe('a body that is wrong', () => {
  it.each(bad)('is refused with the path of the field: %s (%#)', (field, body) => {
    const { code, message } = failureOf(body);
    expect(code).toBe('invalid_request');
    expect(message.slice(0, message.indexOf(': '))).toBe(field);
    expect(message.length).toBeGreaterThan(field.length + 5);
  });

  it.each([null, 5, 'x', [], true, undefined])('is refused as a whole when it is no object: %j', (body) => {
    expect(failureOf(body)).toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining('expected object') as string,
    });
  });

  it('is refused without quoting it', () => {
    const canary = 'CANARY';
    const bodies = [
      withMessages({ role: canary, content: canary }),
      { ...good, stop: { a: canary } },
      withTool({ type: canary }),
      withFormat({ type: canary }),
    ];
    for (const body of bodies) expect(failureOf(body).message).not.toContain(canary);
  });
});

describe('null', () => {
  const optional = [
    ...['stream', 'stream_options', 'max_tokens', 'max_completion_tokens', 'tools', 'tool_choice', 'response_format'],
    ...parameterNames,
  ];
  it.each(optional)('in %s is the same as its absence', (field) => {
    expect(readRequest({ ...good, [field]: null })).toEqual(readRequest(good));
  });

  it('inside messages, tools and formats is the same as absence', () => {
    const sparse = {
      ...withMessages(user, {
        role: 'assistant',
        content: null,
        name: null,
        reasoning: null,
        reasoning_content: null,
        tool_calls: null,
      }),
      tools: [{ type: 'function', function: { name: 'f', description: null, parameters: null, strict: null } }],
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'n', description: null, schema: null, strict: null },
      },
    };
    expect(readRequest(sparse)).toMatchObject({
      messages: [user, { role: 'assistant' }],
      tools: [{ name: 'f' }],
      responseFormat: { type: 'json_schema', name: 'n' },
    });
    const { messages, tools } = readRequest(sparse);
    expect([messages[1], tools[0]]).toEqual([{ role: 'assistant', content: '' }, { name: 'f' }]);
  });
});

describe('a request that was read', () => {
  const read = (body: object): Request => readRequest({ ...good, ...body });

  it('holds nothing more than what was sent', () => {
    expect(readRequest(good)).toEqual({
      ...{
        modelName: 'demo/tiny',
        messages: [user],
        tools: [],
        sampling: {},
        stream: false,
        includeUsage: false,
        inert: [],
      },
    });
  });

  it('drops every unknown key, cache_control in parts and tools too', () => {
    const cached = { cache_control: { type: 'ephemeral' }, CANARY: 1 };
    const request = readRequest({
      ...{ model: 'demo/tiny', user: 'CANARY', safety_identifier: 'CANARY', CANARY: 1, metadata: { CANARY: 1 } },
      messages: [
        { role: 'system', content: [{ type: 'text', text: 'a', ...cached }], ...cached },
        {
          role: 'user',
          content: [{ type: 'image_url', image_url: { url: 'https://x', ...cached }, ...cached }],
          ...cached,
        },
        {
          role: 'assistant',
          tool_calls: [{ id: 'a', function: { name: 'f', arguments: '{}', ...cached }, ...cached }],
          ...cached,
        },
        { role: 'tool', tool_call_id: 'a', content: [{ type: 'text', text: 'b', ...cached }], ...cached },
      ],
      tools: [{ type: 'function', function: { name: 'f', ...cached }, ...cached }],
      response_format: { type: 'json_schema', json_schema: { name: 'n', ...cached }, ...cached },
    });
    expect(JSON.stringify(request)).not.toMatch(/cache_control|CANARY/);
    expect(request.inert).toEqual(['metadata']);
  });

  it('keeps the schema of a tool or a format as its author wrote it, unknown keys included', () => {
    const schema = {
      type: 'object',
      properties: { a: { type: 'string', cache_control: 1, $comment: 'x' } },
      additionalProperties: false,
    };
    const request = read({
      tools: [{ type: 'function', function: { name: 'f', parameters: schema } }],
      response_format: { type: 'json_schema', json_schema: { name: 'n', schema, strict: true } },
    });
    expect(request.tools[0]?.parameters).toEqual(schema);
    expect(request.responseFormat).toEqual({ type: 'json_schema', name: 'n', schema, strict: true });
  });

  it.each(['system', 'user', 'assistant', 'tool'])('text parts of a %s message are the string they spell', (role) => {
    const more = role === 'tool' ? { tool_call_id: 'a' } : {};
    const parts = [
      { type: 'text', text: 'Hello, ' },
      { type: 'text', text: 'world' },
    ];
    expect(readRequest(withMessages({ role, content: parts, ...more }))).toEqual(
      readRequest(withMessages({ role, content: 'Hello, world', ...more })),
    );
  });

  it('developer is system', () => {
    expect(readRequest(withMessages({ role: 'developer', content: 'x' }))).toEqual(
      readRequest(withMessages({ role: 'system', content: 'x' })),
    );
  });

  it('images keep their place among the parts, and either way to write one is the same', () => {
    const expected = [
      { type: 'text', text: 'a' },
      { type: 'image', url: 'https://x' },
      { type: 'text', text: 'b' },
    ];
    const parts = (image: unknown) => [
      { type: 'text', text: 'a' },
      { type: 'image_url', image_url: image },
      { type: 'text', text: 'b' },
    ];
    for (const image of ['https://x', { url: 'https://x' }, { url: 'https://x', detail: null }]) {
      expect(readRequest(withMessages({ role: 'user', content: parts(image) })).messages[0]?.content).toEqual(expected);
    }
    expect(
      readRequest(withPart({ type: 'image_url', image_url: { url: 'data:image/png;base64,x', detail: 'low' } }))
        .messages[0]?.content,
    ).toEqual([{ type: 'image', url: 'data:image/png;base64,x', detail: 'low' }]);
  });

  it('replayed reasoning is read from either field; reasoning_content wins', () => {
    const traced = (more: object) =>
      readRequest(withMessages({ role: 'assistant', content: 'x', ...more })).messages[0];
    expect(traced({ reasoning: 'r' })).toEqual({ role: 'assistant', content: 'x', reasoning: 'r' });
    expect(traced({ reasoning_content: 'r' })).toEqual({ role: 'assistant', content: 'x', reasoning: 'r' });
    expect(traced({ reasoning_content: 'r', reasoning: 's' })).toEqual({
      role: 'assistant',
      content: 'x',
      reasoning: 'r',
    });
  });

  it('max_completion_tokens wins over max_tokens', () => {
    expect(read({ max_tokens: 5 }).maxOutputTokens).toBe(5);
    expect(read({ max_tokens: 5, max_completion_tokens: 7 }).maxOutputTokens).toBe(7);
  });

  it('a usage chunk is wanted only where it is asked for', () => {
    expect(read({ stream: true }).includeUsage).toBe(false);
    expect(read({ stream: true, stream_options: { include_usage: true } })).toMatchObject({
      stream: true,
      includeUsage: true,
    });
    expect(read({ stream: true, stream_options: {}, usage: { include: true } }).includeUsage).toBe(false);
  });

  it('has every tool choice', () => {
    const choice = (value: unknown) => read({ tools: [weather], tool_choice: value }).toolChoice;
    expect(['auto', 'none', 'required'].map(choice)).toEqual(['auto', 'none', 'required']);
    expect(choice({ type: 'function', function: { name: 'get_weather' } })).toEqual({ name: 'get_weather' });
    expect(read({ tool_choice: 'auto' }).toolChoice).toBeUndefined();
  });

  it('may have the values at the ends of every range', () => {
    const low = {
      temperature: 0,
      top_p: 0,
      n: 1,
      logprobs: true,
      top_logprobs: 0,
      frequency_penalty: -2,
      presence_penalty: -2,
      top_k: -1,
      min_p: 0,
      repetition_penalty: 0.01,
      top_a: 0,
      seed: -5,
    };
    const high = {
      temperature: 2,
      top_p: 1,
      n: 128,
      logprobs: true,
      top_logprobs: 20,
      frequency_penalty: 2,
      presence_penalty: 2,
      top_k: 5,
      min_p: 1,
      repetition_penalty: 10,
      top_a: 1,
      seed: 2 ** 53 - 1,
    };
    expect(read(low).sampling).toEqual(low);
    expect(read(high).sampling).toEqual(high);
    expect(read({ stop: ['a', 'b', 'c', 'd'], logit_bias: { 5: -100, 6: 100 } }).sampling).toEqual({
      stop: ['a', 'b', 'c', 'd'],
      logit_bias: { 5: -100, 6: 100 },
    });
  });
});

describe('model ids', () => {
  it.each([
    ['Demo/TINY', 'demo/tiny'],
    ['demo/tiny:nitro', 'demo/tiny'],
    ['demo/tiny:FLOOR', 'demo/tiny'],
    ['demo/tiny:nitro:floor', 'demo/tiny'],
    ['GPT-4o', 'gpt-4o'],
    ['Llama3.2:1B', 'llama3.2:1b'],
    ['llama3.2:1b:floor', 'llama3.2:1b'],
  ])('%s is %s', (given, id) => {
    expect(readRequest({ ...good, model: given }).modelName).toBe(id);
  });

  it.each(['demo/tiny:free', 'demo/tiny:online', 'demo/tiny:', 'demo/tiny:nitro:free', 'demo/tiny:1b:free'])(
    '%s names a variant that is not offered',
    (model) => {
      expect(failureOf({ ...good, model }).code).toBe('variant_not_supported');
    },
  );
});

it('names the inert fields in the order of the body, and no others', () => {
  const body = {
    transforms: [],
    ...good,
    provider: {},
    models: ['x'],
    route: 'fallback',
    plugins: [],
    usage: {},
    whatever: 1,
    constructor: 1,
  };
  expect(readRequest(body).inert).toEqual(['transforms', 'provider', 'models', 'route', 'plugins', 'usage']);
});

describe('a hostile body', () => {
  const fields = Object.keys({
    ...good,
    tools: 1,
    tool_choice: 1,
    response_format: 1,
    stop: 1,
    logit_bias: 1,
    stream_options: 1,
    temperature: 1,
    seed: 1,
  });
  const keys = fc.constantFrom(
    ...fields,
    '__proto__',
    'constructor',
    'prototype',
    'toString',
    'role',
    'content',
    'type',
    'function',
    'name',
    'image_url',
    'json_schema',
  );
  const json = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 5 },
      fc.constantFrom(
        'user',
        'assistant',
        'function',
        'text',
        'image_url',
        'json_schema',
        'auto',
        '\ud800',
        '',
        null,
        true,
      ),
      fc.double(),
      fc.constantFrom(1e308, -1e308, 2 ** 60, -0, Infinity),
      fc.string(),
      fc.array(tie('value'), { maxLength: 3 }),
      fc
        .array(fc.tuple(keys, tie('value')), { maxLength: 4 })
        .map(
          (entries) =>
            JSON.parse(
              `{${entries.map(([name, inner]) => `${JSON.stringify(name)}:${JSON.stringify(inner)}`).join(',')}}`,
            ) as unknown,
        ),
    ),
  })).value;

  it('is read or refused with a failure, whatever it is', () => {
    fc.assert(
      fc.property(json, json, json, (a, b, c) => {
        for (const body of [
          a,
          { ...good, messages: [user, b], tools: c },
          { ...good, tools: [b], response_format: c, tool_choice: a },
        ]) {
          try {
            readRequest(body);
          } catch (error) {
            expect(error).toBeInstanceOf(Failure);
          }
        }
      }),
      { numRuns: 500 },
    );
    expect(({} as Record<string, unknown>)['role']).toBeUndefined();
  });

  it('with prototype keys changes no prototype', () => {
    const body = JSON.parse(
      '{"model":"demo/tiny","messages":[{"role":"user","content":"hi","__proto__":{"polluted":1}}],"__proto__":{"stream":true,"polluted":1},"logit_bias":{"__proto__":{"polluted":1}},"tools":[{"type":"function","function":{"name":"f","parameters":{"__proto__":{"polluted":1},"constructor":1}}}]}',
    ) as unknown;
    try {
      expect(readRequest(body).stream).toBe(false);
    } catch (error) {
      expect(error).toBeInstanceOf(Failure);
    }
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  it('keeps a lone surrogate as it is', () => {
    expect(readRequest(withMessages({ role: 'user', content: '\ud800' })).messages[0]?.content).toBe('\ud800');
  });

  it('with a number too large for JSON is refused by its field', () => {
    const body = JSON.parse(
      '{"model":"demo/tiny","messages":[{"role":"user","content":"x"}],"temperature":1e400}',
    ) as unknown;
    expect(failureOf(body).message).toMatch(/^temperature: /);
  });
});

describe('other parts of the public format', () => {
  const named = (name: string) => ({ type: 'function', function: { name } });

  it.each([
    ['auto', 'auto'],
    ['required', 'required'],
  ] as const)('a choice among some of the tools leaves the others out: %s', (mode, toolChoice) => {
    const tools = ['a', 'b', 'c'].map(named);
    const choice = { type: 'allowed_tools', allowed_tools: { mode, tools: [named('c'), named('a')] } };
    const request = readRequest({ ...good, tools, tool_choice: choice });
    expect(request.tools.map(({ name }) => name)).toEqual(['a', 'c']);
    expect(request.toolChoice).toBe(toolChoice);
  });

  it('a custom tool is a function with one text, and its call in the history is one, too', () => {
    const tools = [{ type: 'custom', custom: { name: 'run', description: 'Runs it.', format: { type: 'text' } } }];
    const call = { id: 'a', type: 'custom', custom: { name: 'run', input: 'ls "x"' } };
    const request = readRequest({ ...withMessages(user, { role: 'assistant', tool_calls: [call] }), tools });
    expect(request.tools).toEqual([
      {
        ...{ name: 'run', description: 'Runs it.' },
        parameters: {
          type: 'object',
          properties: { input: { type: 'string', description: expect.any(String) } },
          required: ['input'],
          additionalProperties: false,
        },
      },
    ]);
    expect(request.callFormat).toEqual({ customTools: ['run'], functionCall: false });
    expect(request.messages[1]).toMatchObject({
      toolCalls: [{ id: 'a', name: 'run', arguments: '{"input":"ls \\"x\\""}' }],
    });
  });

  it('functions and function_call are tools and their choice under the first names', () => {
    const call = { name: 'get_weather', arguments: '{"city":"Ulm"}' };
    const history = [
      user,
      { role: 'assistant', content: null, function_call: call },
      { role: 'function', name: 'get_weather', content: 'warm' },
    ];
    const functions = [weather.function];
    const request = readRequest({ ...withMessages(...history), functions, function_call: { name: 'get_weather' } });
    expect(request).toMatchObject({
      tools: [{ name: 'get_weather' }],
      toolChoice: { name: 'get_weather' },
      callFormat: { customTools: [], functionCall: true },
      messages: [
        user,
        { role: 'assistant', toolCalls: [{ id: 'call_get_weather', ...call }] },
        { role: 'tool', toolCallId: 'call_get_weather', content: 'warm' },
      ],
    });
  });

  it.each([
    ['data:text/plain;base64,w7xiZXI=', 'über'],
    ['data:text/markdown,a%20b', 'a b'],
    ['data:application/json;charset=utf-8;base64,e30=', '{}'],
  ])('a file with text is its name and its text: %s', (file_data, text) => {
    const file = { type: 'file', file: { filename: 'notes.md', file_data } };
    expect(readRequest(withPart(file)).messages).toEqual([{ role: 'user', content: `notes.md\n\n${text}` }]);
  });
});
