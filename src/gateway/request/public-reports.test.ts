/** Inputs of public reports about engines and clients, each as small as it shows the fault. docs/lab/reports.md says what held. */
import { describe, expect, it } from 'vitest';
import {
  ask,
  begin,
  bodyOf,
  chunk,
  done,
  events,
  expectClean,
  wholeJson,
  wholeStream,
} from '../../../test/support/pipeline-run.ts';
import { targetOf } from '../../../test/support/route-of.ts';
import { uncounted } from '../../../test/support/uncounted.ts';
import type { RequestTarget } from '../../core/capability.ts';
import type { ChatSurface } from '../../core/dialect.ts';
import { isObject } from '../../core/json.ts';
import { chatErrors } from '../dialects/engine/read-error.ts';
import { prepareHere } from './prepare.ts';

type Wire = Readonly<Record<string, unknown>>;

const tools = [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }];

/** What a client puts together of the only choice of an answer. */
function answered(text: string): Wire {
  const choices = text.startsWith('{')
    ? [(JSON.parse(text) as { readonly choices: readonly Wire[] }).choices[0]]
    : [...text.matchAll(/^data: (\{.*)$/gm)].map(
        ([, data = '']) => (JSON.parse(data) as { readonly choices: readonly Wire[] }).choices[0],
      );
  const calls: { name?: string; arguments: string }[] = [];
  const said = { text: '', trace: '', finishes: [] as unknown[] };
  for (const choice of choices) {
    const part = (choice?.['delta'] ?? choice?.['message'] ?? {}) as Wire;
    if (typeof part['content'] === 'string') said.text += part['content'];
    if (typeof part['reasoning_content'] === 'string') said.trace += part['reasoning_content'];
    for (const [at, call] of ((part['tool_calls'] ?? []) as readonly Wire[]).entries()) {
      const made = (calls[Number(call['index'] ?? at)] ??= { arguments: '' });
      const { name, arguments: piece = '' } = call['function'] as {
        readonly name?: string;
        readonly arguments?: string;
      };
      if (name !== undefined) made.name = name;
      made.arguments += piece;
    }
    if (typeof choice?.['finish_reason'] === 'string') said.finishes.push(choice['finish_reason']);
  }
  return { ...said, calls };
}

const call = (fields: Wire): Wire => ({ tool_calls: [fields] });
const toolsAt1 = [{ name: 'look', arguments: '{"at":1}' }];

const answers: readonly (readonly [report: string, body: string, expected: Wire])[] = [
  [
    'openai/codex/issues/7517',
    chunk(call({ index: 0, id: 'a', type: 'function', function: { name: 'look', arguments: '{"at"' } })) +
      chunk(call({ index: 0, function: { arguments: ':1}' } })) +
      chunk({}, 'tool_calls'),
    { calls: toolsAt1, finishes: ['tool_calls'] },
  ],
  [
    'vercel/ai/pull/15879',
    chunk(call({ id: 'a', type: 'function', function: { arguments: '{"at"' } })) +
      chunk(call({ id: 'a', function: { name: 'look', arguments: ':1}' } })) +
      chunk({}, 'tool_calls'),
    { calls: toolsAt1 },
  ],
  [
    'SamSaffron/term-llm/pull/314',
    chunk({
      tool_calls: ['a', 'b'].map((id) => ({ id, type: 'function', function: { name: 'look', arguments: '{"at":1}' } })),
    }) + chunk({}, 'tool_calls'),
    { calls: [...toolsAt1, ...toolsAt1] },
  ],
  [
    'jjang-ai/vmlx/issues/219',
    chunk({}, null, { tool_call_generating: true }).repeat(3) +
      chunk(call({ index: 0, id: 'a', type: 'function', function: { name: 'look', arguments: '{"at":1}' } })) +
      chunk({}, 'stop'),
    { calls: toolsAt1, finishes: ['tool_calls'] },
  ],
  [
    'BerriAI/litellm/pull/24095',
    JSON.stringify({
      choices: [
        {
          message: { role: 'assistant', content: '', ...call({ function: { name: 'look', arguments: { at: 1 } } }) },
          finish_reason: 'stop',
        },
      ],
    }),
    { calls: toolsAt1, finishes: ['tool_calls'] },
  ],
  [
    'anomalyco/opencode/issues/44092',
    chunk({ content: 'No' }) + chunk({}, 'sensitive'),
    { text: 'No', finishes: ['content_filter'] },
  ],
  [
    'sgl-project/sglang/pull/8417',
    chunk({ content: 'Hello' }, 'stop') + chunk({ content: '' }, 'stop'),
    { text: 'Hello', finishes: ['stop'] },
  ],
  [
    'vllm-project/vllm/pull/36944',
    chunk({ content: 'Hel' }) + chunk({ content: 'lo' }, 'length'),
    { text: 'Hello', finishes: ['length'] },
  ],
  [
    'vllm-project/vllm/pull/50624',
    chunk({ reasoning: 'Hm' }) + chunk({ content: 'Hello' }) + chunk({}, 'stop'),
    { trace: 'Hm', text: 'Hello' },
  ],
  [
    'vllm-project/vllm/issues/27572',
    chunk(call({ index: 0, id: 'a', type: 'function', function: { name: 'look', arguments: '{"at":1}' } })),
    { calls: toolsAt1, finishes: ['tool_calls'] },
  ],
];

const send = (run: ReturnType<typeof begin>, stream: boolean) =>
  run.send({ body: JSON.stringify({ ...ask, stream, tools }) });

describe('an answer of an engine', () => {
  it.each(answers)('as in github.com/%s reaches the caller', async (_, body, expected) => {
    const stream = !body.startsWith('{');
    const run = begin();
    const exchange = send(run, stream);
    (await run.upstream.called(0)).answer(stream ? events : 'application/json', body + (stream ? done : ''));
    await exchange.answered;
    expect(answered(exchange.text())).toMatchObject(expected);
    expect(run.upstream.calls).toHaveLength(1);
    await expectClean(run, 1);
  });

  const native = (word: string): string =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: '' }, finish_reason: 'stop', native_finish_reason: word }] })}\n\n`;
  const failures: readonly (readonly [report: string, body: string])[] = [
    ['OleksandrChekhovskyi/hax/pull/15', native('network_error')],
    ['OleksandrChekhovskyi/hax/pull/15', native('error')],
    ['gethouston/houston/pull/1211', chunk({ content: '' }, 'error')],
    [
      'diegosouzapw/OmniRoute/pull/8210',
      `data: ${JSON.stringify({ choices: [], error: { code: 502, message: 'Worker local total request limit reached (33/32)' } })}\n\n`,
    ],
    [
      'ollama/ollama/issues/11781',
      `data: {"error parsing tool call":"invalid character 'c' looking for beginning of value"}\n\n`,
    ],
    ['can1357/oh-my-pi/issues/9433', ''],
  ];

  it.each(failures)('that is none, as in github.com/%s, is replaced by that of the next route', async (_, body) => {
    const run = begin();
    const exchange = send(run, true);
    (await run.upstream.called(0)).answer(events, body + done);
    (await run.upstream.called(1)).answer(events, wholeStream);
    await exchange.answered;
    expect(answered(exchange.text())).toMatchObject({ text: 'Hello', finishes: ['stop'] });
    await expectClean(run, 1);
  });

  it('ends as usual by another word of the provider', async () => {
    const run = begin();
    const exchange = send(run, true);
    const words = ['stop', 'end_turn', 'completed', 'STOP'].map(native);
    (await run.upstream.called(0)).answer(events, chunk({ content: 'Hello' }) + words.join('') + done);
    await exchange.answered;
    expect(answered(exchange.text())).toMatchObject({ text: 'Hello', finishes: ['stop'] });
  });

  const tooLong = {
    code: 400,
    message: 'the request exceeds the available context size. try increasing the context size or enable context shift',
    type: 'invalid_request_error',
  };
  it.each([
    ['data', `data: ${JSON.stringify({ error: tooLong })}\n\n`],
    ['a field of its own', `error: ${JSON.stringify(tooLong)}\n\n`],
  ])(
    'about the context in a stream, as in github.com/ggml-org/llama.cpp/issues/14566, is the caller’s 400: in %s',
    async (_, body) => {
      const run = begin();
      const exchange = send(run, true);
      for (const at of [0, 1]) (await run.upstream.called(at)).answer(events, body);
      await exchange.answered;
      expect([exchange.status(), bodyOf(exchange)]).toMatchObject([
        400,
        { error: { code: 'context_length_exceeded' } },
      ]);
    },
  );
});

describe('an error of an engine', () => {
  // ollama/ollama/issues/17638, 12884: it quotes what the model wrote, which may be about anything.
  it.each([
    'Your prompt is too long: it exceeds the maximum context length of 8192 tokens.',
    'Rate limit: too many requests per minute.',
    'Insufficient balance. Invalid API key.',
    'The model `x` does not exist',
  ])('that quotes the model is judged without the quotation: %s', async (written) => {
    const error = `error parsing tool call: raw='{"content":"${written}"}]', err=invalid character ']' after top-level value`;
    expect(chatErrors.read(500, JSON.stringify({ error }))).toEqual({ engineError: 'other', cause: undefined });
    const run = begin();
    const exchange = send(run, false);
    const engine = await run.upstream.called(0);
    engine.head(500, { 'content-type': 'application/json' });
    engine.data(JSON.stringify({ error }));
    engine.end();
    (await run.upstream.called(1)).answer('application/json', wholeJson);
    await exchange.answered;
    expect(exchange.status()).toBe(200);
  });

  it('in two objects names the field all the same', () => {
    // decolua/9router/issues/3008
    const inner = {
      code: null,
      message: '{"detail":"Unsupported parameter: reasoning_effort"} (traceid: 1)',
      type: 'invalid_request_error',
    };
    const body = `${JSON.stringify({ error: inner })}${JSON.stringify({ code: 30001, message: 'x', success: false })}`;
    expect(chatErrors.read(400, body)).toMatchObject({
      engineError: 'bad-request',
      about: 'reasoning',
      refuses: 'reasoning',
    });
  });
});

const bodies: Readonly<Record<ChatSurface, (fields: Wire) => Wire>> = {
  chat: (fields) => ({ model: 'demo/tiny', ...fields }),
  messages: (fields) => ({ model: 'demo/tiny', max_tokens: 9, ...fields }),
  responses: (fields) => ({ model: 'demo/tiny', ...fields }),
};

/** What an engine gets of a request. */
function sent(
  surface: ChatSurface,
  fields: Wire,
  target: RequestTarget = targetOf('a'),
): { readonly messages: readonly Wire[]; readonly tools?: readonly Wire[] } {
  const bytes = new TextEncoder().encode(JSON.stringify(bodies[surface](fields)));
  return JSON.parse(prepareHere(bytes, { surface, countPrompt: uncounted }).bodyFor(target) as string);
}

const stray = 'Result of a tool call that is no longer part of this conversation:\n';
const user = { role: 'user', content: 'Go on.' };
const toolUse = { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'look', input: {} }] };
const toolResult = (content: unknown): Wire => ({
  role: 'user',
  content: [{ type: 'tool_result', tool_use_id: 'a', content }],
});

const requests: readonly (readonly [report: string, surface: ChatSurface, fields: Wire, messages: readonly Wire[]])[] =
  [
    [
      'ollama/ollama/pull/18348',
      'responses',
      { input: [user, { type: 'function_call_output', name: 'handoff', namespace: 'example', output: 'Done.' }] },
      [{ role: 'user', content: 'Go on.\n\nResult of the tool example__handoff:\nDone.' }],
    ],
    [
      'anthropics/claude-code/issues/6836',
      'messages',
      { messages: [toolResult('Rain.'), user] },
      [{ role: 'user', content: `${stray}Rain.\n\nGo on.` }],
    ],
    [
      'diegosouzapw/OmniRoute/issues/2893',
      'responses',
      { input: [{ type: 'function_call_output', call_id: 'a', output: 'Rain.' }, user] },
      [{ role: 'user', content: `${stray}Rain.\n\nGo on.` }],
    ],
    [
      'qwersyk/Newelle/issues/425',
      'chat',
      { messages: [{ role: 'tool', tool_call_id: 'a', content: 'Rain.' }, user] },
      [{ role: 'user', content: `${stray}Rain.\n\nGo on.` }],
    ],
    [
      'qwersyk/Newelle/issues/425',
      'chat',
      { messages: [{ role: 'function', name: 'look', content: 'Rain.' }, user] },
      [{ role: 'user', content: 'Result of the tool look:\nRain.\n\nGo on.' }],
    ],
    [
      'anthropics/claude-code/issues/3860',
      'messages',
      { messages: [user, toolUse, user] },
      [
        user,
        { role: 'assistant', tool_calls: [{ id: 'a' }] },
        { role: 'tool', tool_call_id: 'a', content: 'Error: this call has no result.' },
        user,
      ],
    ],
    [
      'anthropics/claude-code/issues/31026',
      'messages',
      { messages: [user, toolUse, toolResult([{ text: 'Rain.' }])] },
      [user, { role: 'assistant' }, { role: 'tool', tool_call_id: 'a', content: 'Rain.' }],
    ],
    [
      'anthropics/claude-code/issues/30912',
      'messages',
      { messages: [user, toolUse, toolResult([{ type: 'tool_reference', tool_name: 'see' }])] },
      [user, { role: 'assistant' }, { role: 'tool', content: 'The tool see can be called from now on.\n' }],
    ],
    [
      'tashfeenahmed/freellmapi/issues/165',
      'chat',
      { messages: [user, { role: 'assistant', content: null }, user] },
      [user, { role: 'assistant', content: '' }, user],
    ],
    [
      'AstrBotDevs/AstrBot/pull/8483',
      'chat',
      { messages: [user, { role: 'assistant', reasoning_content: 'Hm' }, user] },
      [user, { role: 'assistant', content: '', reasoning: 'Hm' }, user],
    ],
    [
      'continuedev/continue/issues/11494',
      'responses',
      {
        input: [
          user,
          { type: 'function_call', id: 'msg_1', call_id: 'a', name: 'look', arguments: '{}' },
          { type: 'function_call_output', call_id: 'a', output: 'ok' },
        ],
      },
      [user, { role: 'assistant', tool_calls: [{ id: 'a' }] }, { role: 'tool', tool_call_id: 'a' }],
    ],
    [
      'openai/codex/issues/6945',
      'responses',
      { input: [user, { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'other' } }, user] },
      [{ role: 'user', content: 'Go on.\n\nGo on.' }],
    ],
    [
      'zyycn/codex-proxy-rs/issues/194',
      'responses',
      {
        input: [
          {
            type: 'message',
            role: 'assistant',
            status: 'completed',
            id: 'msg_1',
            content: [{ type: 'output_text', text: 'Hi.', annotations: [] }],
          },
          user,
        ],
      },
      [{ role: 'assistant', content: 'Hi.' }, user],
    ],
  ];

const schema = { type: 'object', properties: {} };

describe('a request of a client', () => {
  it.each(requests)('as in github.com/%s is served', (_, surface, fields, messages) => {
    const got = sent(surface, fields).messages;
    expect(got).toMatchObject(messages);
    expect(got).toHaveLength(messages.length);
  });

  it.each([
    ['anthropics/claude-code/issues/31033', { name: 'look', input_schema: schema, defer_loading: false }],
    ['anthropics/claude-code/issues/11678', { name: 'look', input_schema: schema, input_examples: [{}] }],
  ])('has fields of tools that no engine gets: github.com/%s', (_, tool) => {
    expect(sent('messages', { messages: [user], tools: [tool] }).tools).toEqual([
      { type: 'function', function: { name: 'look', parameters: schema } },
    ]);
  });

  it('adds tools in a system turn: github.com/vllm-project/vllm/issues/57324', () => {
    const tool = { name: 'look', input_schema: schema, defer_loading: true };
    const addition = { type: 'tool_addition', tool: { type: 'tool_reference', name: 'look' } };
    const messages = [user, { role: 'system', content: [{ type: 'text', text: 'Now.' }, addition] }];
    expect(sent('messages', { messages, tools: [tool] }).tools).toHaveLength(1);
  });

  it('adds tools in an item, as Codex 0.150 does: github.com/mxyhi/token_proxy/issues/307', () => {
    const exec = { type: 'custom', name: 'exec', description: 'Runs it.' };
    const added = {
      type: 'additional_tools',
      role: 'developer',
      tools: [{ type: 'namespace', name: 'functions', tools: [exec] }],
    };
    const own = { type: 'function', name: 'look', parameters: schema };
    const names = (fields: Wire) =>
      sent('responses', fields).tools?.map((tool) => isObject(tool['function']) && tool['function']['name']);
    expect(names({ input: [added, user] })).toEqual(['functions__exec']);
    expect(names({ input: [added, user], tools: [own] })).toEqual(['look', 'functions__exec']);
    // Of two tools of one name the last one counts.
    const again = { type: 'additional_tools', tools: [{ ...own, description: 'New.' }] };
    expect(sent('responses', { input: [again, again, user], tools: [own] }).tools).toMatchObject([
      { function: { description: 'New.' } },
    ]);
    const choice = { type: 'custom', name: 'nothing' };
    expect(() => sent('responses', { input: [added, user], tool_choice: choice })).toThrow('tool_choice.name');
  });

  it('asks for what is not served, and is told by name: github.com/james-6-23/codex2api/issues/224', () => {
    for (const type of ['compaction_trigger', 'compaction']) {
      expect(() => sent('responses', { input: [user, { type }] })).toThrow(/^input\[1\]\.type: .*shortened/);
    }
  });
});
