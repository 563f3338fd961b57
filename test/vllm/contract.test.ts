/** Whether the row for vLLM in our tables is true: asked of a real one, through the whole gateway. */
import { describe, expect, it } from 'vitest';
import { parametersOf } from '../../src/core/parameters.ts';
import { startVllm } from '../support/vllm.ts';
import { askTiny as ask, getWeather, vllmManifests } from '../support/vllm-catalog.ts';
import { startWeir } from '../support/weir.ts';
import { forFile } from '../support/for-file.ts';

// Without it a model may write white space without end where a grammar allows it.
const structured = ['--structured-outputs-config', '{"backend": "xgrammar", "disable_any_whitespace": true}'];

const vllm = await forFile(startVllm({ extra: structured }));
const weir = await forFile(
  startWeir({
    unlimited: true,
    manifests: { 'catalog.yaml': vllmManifests([vllm]) },
    secrets: [String(vllm.port), 'vllm-0', 'system_fingerprint":"vllm', 'routed_experts', 'token_ids', 'kv_transfer'],
  }),
);

/** A value for every parameter of the row. */
const values: Readonly<Record<string, unknown>> = {
  ...{ temperature: 0.7, top_p: 0.9, stop: ['zzz'], seed: 7, n: 2, logprobs: true, logit_bias: { '5': -1 } },
  ...{ frequency_penalty: 0.5, presence_penalty: 0.5, top_k: 10, min_p: 0.05, repetition_penalty: 1.1 },
  ...{ top_logprobs: 2, parallel_tool_calls: false },
};
const needed: Readonly<Record<string, object>> = {
  top_logprobs: { logprobs: true },
  parallel_tool_calls: { tools: [getWeather] },
};
const withParameters = (names: readonly string[]): object =>
  Object.assign({ temperature: 0.7 }, ...names.map((name) => ({ ...needed[name], [name]: values[name] })));

async function expectServed(body: object): Promise<void> {
  for (const stream of [false, true]) {
    const response = await weir.chat({ ...body, stream });
    const text = await response.text();
    expect([response.status, text.includes('"error"')], `${JSON.stringify(body)}\n${text}`).toEqual([200, false]);
  }
}

const names = parametersOf('vllm');

describe('every parameter of the row', () => {
  it.each(names)('%s is served, streamed and not', async (name) => {
    await expectServed(ask({ max_tokens: 4, ...withParameters([name]) }));
  });

  it.each(names)('%s is served with each of the others', async (name) => {
    for (const other of names.slice(names.indexOf(name) + 1)) {
      await expectServed(ask({ max_tokens: 2, ...withParameters([name, other]) }));
    }
  });

  it('several answers at temperature 0 are refused by the engine, and the caller hears of it', async () => {
    const response = await weir.chat(ask({ n: 2 }));
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { type: 'invalid_request_error' } });
  });

  it.each([false, true])('n makes so many answers, each with its end, stream: %s', async (stream) => {
    const request = ask({ n: 3, temperature: 1, seed: 3 });
    const answer = stream
      ? await weir.client().chat.completions.stream(request).finalChatCompletion()
      : await weir.client().chat.completions.create(request);
    expect(answer.choices.map(({ index, finish_reason }) => [index, finish_reason])).toEqual([
      [0, 'length'],
      [1, 'length'],
      [2, 'length'],
    ]);
    if (!stream) expect(answer.usage?.completion_tokens).toBe(96);
  });

  it('logprobs come back in the shape they were sent in', async () => {
    const answer = await weir.client().chat.completions.create(ask({ logprobs: true, top_logprobs: 3 }));
    const content = answer.choices[0]?.logprobs?.content ?? [];
    expect(content).toHaveLength(32);
    expect(content.map(({ token }) => token).join('')).toBe(answer.choices[0]?.message.content);
    expect(content[0]?.top_logprobs).toHaveLength(3);
    // It knows its text by heart: what the other suites compare is no accident of rounding.
    expect(Math.min(...content.map(({ logprob }) => logprob))).toBeGreaterThan(Math.log(0.9));
  });

  it('a stop sequence ends the text before it, and a message names it', async () => {
    const answer = await weir.client().chat.completions.create(ask({ stop: ['over'] }));
    expect(answer.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: 'the tide comes in ' } });
    const message = await weir.messagesClient().messages.create({
      ...{ model: 'test/tiny', max_tokens: 40, stop_sequences: ['over'], thinking: { type: 'disabled' } },
      messages: [{ role: 'user', content: 'say what you know please' }],
    });
    expect(message).toMatchObject({ stop_reason: 'stop_sequence', stop_sequence: 'over' });
  });

  it('a seed makes an answer that can be had again', async () => {
    const once = async () => {
      const answer = await weir.client().chat.completions.create(ask({ temperature: 2, seed: 42 }));
      return answer.choices[0]?.message.content;
    };
    expect(await once()).toBe(await once());
  });
});

interface Reasoned {
  readonly content: string | null;
  readonly reasoning_content?: string;
}

/** An answer to a request with fields that the client does not know. */
const whole = async (request: object) => weir.client().chat.completions.create(request as ReturnType<typeof ask>);

/** The message of an answer, with the field that the client does not know. */
function reasonedOf(answer: { readonly choices: readonly { readonly message: object }[] }): Reasoned {
  const [choice] = answer.choices;
  if (choice === undefined) throw new Error('expected an answer');
  return choice.message as Reasoned;
}

describe('reasoning', () => {
  const trace = 'Moon and sea: o';

  it.each(['low', 'medium', 'high', 'max', undefined] as const)('effort %s reasons, in a field', async (effort) => {
    for (const stream of [false, true]) {
      const request = ask({ max_tokens: 60, reasoning_effort: effort });
      const answer = stream ? await collected(request) : await whole(request);
      const { content, reasoning_content: reasoning } = reasonedOf(answer);
      expect(reasoning?.trim()).toBe(trace);
      expect(content?.trim()).toMatch(/^the tide comes in/);
      expect(answer.usage?.completion_tokens).toBe(60);
      expect(answer.usage?.completion_tokens_details?.reasoning_tokens).toBeGreaterThanOrEqual(trace.length);
      expect(answer.usage?.completion_tokens_details?.reasoning_tokens).toBeLessThan(trace.length + 6);
    }
  });

  it('off answers at once', async () => {
    const answer = await weir.client().chat.completions.create(ask());
    expect(answer.choices[0]?.message).toMatchObject({ content: 'the tide comes in over sand and ' });
    expect(answer.choices[0]?.message).not.toHaveProperty('reasoning_content');
    expect(answer.usage?.completion_tokens_details?.reasoning_tokens ?? 0).toBe(0);
  });

  it('a budget cuts the trace, and the text follows', async () => {
    const request = { ...ask({ max_tokens: 80 }, 'muse'), reasoning_effort: undefined, reasoning: { max_tokens: 20 } };
    const { content, reasoning_content: reasoning } = reasonedOf(await whole(request));
    expect(reasoning?.length).toBeGreaterThan(10);
    expect(reasoning?.length).toBeLessThan(30);
    expect(content?.length).toBeGreaterThan(30);
  });

  it('a turn with its trace is taken back', async () => {
    const [question] = ask().messages;
    const messages = [
      ...[question, { role: 'assistant', content: 'Done.', reasoning_content: 'Few words: f' }],
      ...[{ role: 'user', content: 'and again please' }],
    ];
    await expectServed(ask({ messages, reasoning_effort: 'low' }));
  });
});

/** A streamed answer put together, with the fields that the client's own helper leaves out. */
async function collected(request: object) {
  let content = '';
  let reasoning = '';
  let usage: { completion_tokens: number; completion_tokens_details?: { reasoning_tokens?: number } } | undefined;
  const stream = await weir.client().chat.completions.create({
    ...(request as ReturnType<typeof ask>),
    ...{ stream: true, stream_options: { include_usage: true } },
  });
  for await (const chunk of stream) {
    if (chunk.usage) usage = chunk.usage as typeof usage;
    const delta = chunk.choices[0]?.delta as { content?: string; reasoning_content?: string } | undefined;
    content += delta?.content ?? '';
    reasoning += delta?.reasoning_content ?? '';
  }
  return { choices: [{ message: { content, reasoning_content: reasoning } }], usage };
}

describe('tools', () => {
  const other = {
    type: 'function' as const,
    function: { name: 'other', parameters: { type: 'object', properties: {} } },
  };
  const named = { type: 'function' as const, function: { name: 'get_weather' } };
  const paris = { name: 'get_weather', arguments: { city: 'Paris', days: 3 } };
  const rome = { name: 'get_weather', arguments: { city: 'Rome', days: 5 } };

  async function callsOf(request: object, stream: boolean) {
    const completions = weir.client().chat.completions;
    const body = request as ReturnType<typeof ask>;
    const answer = stream ? await completions.stream(body).finalChatCompletion() : await completions.create(body);
    const [choice] = answer.choices;
    const calls = (choice?.message.tool_calls ?? []).flatMap((call) =>
      call.type === 'function' ? [call.function] : [],
    );
    return {
      finish: choice?.finish_reason,
      calls: calls.map((call) => ({ name: call.name, arguments: JSON.parse(call.arguments) as unknown })),
    };
  }

  it.each([
    ['auto', 'call', [paris], 'none', false],
    ['auto', 'call', [paris], 'none', true],
    ['auto, after reasoning', 'call', [paris], 'high', false],
    ['auto, after reasoning', 'call', [paris], 'high', true],
    ['two calls', 'twoCalls', [paris, rome], 'none', false],
    ['two calls', 'twoCalls', [paris, rome], 'none', true],
    ['two calls, after reasoning', 'twoCalls', [paris, rome], 'high', true],
  ] as const)('%s: the calls that the model makes are sound', async (_, ending, calls, effort, stream) => {
    // Reasoning, two tools and two calls together are longer than what the model has learnt.
    const tools = effort === 'none' ? [getWeather, other] : [getWeather];
    const request = ask({ max_tokens: 300, tools, reasoning_effort: effort }, ending);
    expect(await callsOf(request, stream)).toEqual({ finish: 'tool_calls', calls });
  });

  it.each([
    ['required', 'required', false],
    ['required', 'required', true],
    ['a named one', named, false],
    ['a named one', named, true],
  ] as const)('%s: a sound call comes, stream: %s', async (_, choice, stream) => {
    const tools = [{ ...getWeather, function: { ...getWeather.function, strict: true } }, other];
    const request = ask({ max_tokens: 300, tools, tool_choice: choice, parallel_tool_calls: false }, 'call');
    expect(await callsOf(request, stream)).toEqual({ finish: 'tool_calls', calls: [paris] });
  });

  it('none: no tool is called', async () => {
    const answer = await weir
      .client()
      .chat.completions.create(ask({ tools: [getWeather], tool_choice: 'none', max_tokens: 40 }, 'few'));
    expect(answer.choices[0]?.message).toMatchObject({ content: 'Done.' });
  });

  it('an answer of a tool is taken', async () => {
    const call = {
      ...{ id: 'call_1', type: 'function' },
      function: { name: 'get_weather', arguments: '{"city": "Paris", "days": 3}' },
    };
    const messages = [
      ...ask({}, 'call').messages,
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'call_1', content: 'dry' },
    ];
    await expectServed(ask({ messages, tools: [getWeather], max_tokens: 8 }));
  });
});

describe('structured output', () => {
  const schema = {
    type: 'object',
    properties: { dry: { type: 'boolean' }, level: { enum: ['low', 'high'] } },
    required: ['dry', 'level'],
    additionalProperties: false,
  };

  it.each([
    [false, true, 'none'],
    [true, true, 'none'],
    [false, false, 'none'],
    [true, false, 'none'],
    [true, true, 'high'],
  ] as const)('a schema is obeyed, stream: %s, strict: %s, reasoning: %s', async (stream, strict, effort) => {
    const request = ask({
      max_tokens: 300,
      reasoning_effort: effort,
      response_format: { type: 'json_schema', json_schema: { name: 'w', schema, strict } },
    });
    const completions = weir.client().chat.completions;
    const answer = stream ? await completions.stream(request).finalChatCompletion() : await completions.create(request);
    const value = JSON.parse(answer.choices[0]?.message.content ?? '') as object;
    expect(value).toEqual({ dry: expect.any(Boolean), level: expect.stringMatching(/^(low|high)$/) });
  });

  it('an object begins as one, and is cut by the cap as a text is', async () => {
    const response = await weir.chat(ask({ stream: true, response_format: { type: 'json_object' } }));
    const text = await response.text();
    expect([response.status, text.includes('"error"')], text).toEqual([200, false]);
    expect(text).toContain('"content":"{');
  });
});

describe('what does not fit', () => {
  it.each([
    ['the prompt', { messages: [{ role: 'user', content: 'x'.repeat(3000) }] }],
    ['the cap', { max_tokens: 5000 }],
  ])('%s: refused as the contract says, or cut to what fits', async (_, body) => {
    const response = await weir.chat(ask(body));
    const answer = (await response.json()) as { error?: { code: string } };
    expect([response.status, answer.error?.code]).toEqual([400, 'context_length_exceeded']);
  });

  it('a cap beyond what the prompt leaves ends the answer at the window', async () => {
    const messages = [{ role: 'user', content: 'x'.repeat(1900) }];
    const answer = await weir.client().chat.completions.create(ask({ messages, max_tokens: 400 }));
    expect(answer.choices[0]?.finish_reason).toBe('length');
    expect(answer.usage?.total_tokens).toBe(2048);
  });
});

describe('the bill', () => {
  it('a stream has the usage of the whole answer', async () => {
    const whole = await weir.client().chat.completions.create(ask());
    const streamed = await collected(ask());
    expect(streamed.choices[0]?.message.content).toBe(whole.choices[0]?.message.content);
    expect(streamed.usage?.completion_tokens).toBe(32);
    expect(whole.usage?.completion_tokens).toBe(32);
  });

  it('a prompt that was cached is billed at the cached rate', async () => {
    const messages = [{ role: 'user' as const, content: `${'a river that runs to the sea, '.repeat(16)}please` }];
    const create = () => weir.client().chat.completions.create(ask({ messages }));
    const first = await create();
    const second = await create();
    const { prompt_tokens: prompt = 0, prompt_tokens_details: details } = second.usage ?? {};
    const cached = details?.cached_tokens ?? 0;
    expect(cached).toBeGreaterThan(prompt / 2);
    expect(first.usage?.prompt_tokens).toBe(prompt);
    const { cost } = second.usage as unknown as { cost: number };
    expect(cost).toBeCloseTo((prompt - cached) * 1e-6 + cached * 1e-7 + 32 * 2e-6, 12);
  });

  it('a caller who leaves frees the engine within a second, and pays for what came', async () => {
    const controller = new AbortController();
    const stream = await weir
      .client()
      .chat.completions.create({ ...ask({ max_tokens: 1500 }), stream: true }, { signal: controller.signal });
    expect(await vllm.metric('vllm:num_requests_running')).toBe(1);
    let heard = '';
    for await (const { choices } of stream) {
      heard += choices[0]?.delta.content ?? '';
      if (heard.length > 20) controller.abort();
    }
    await expect.poll(() => vllm.metric('vllm:num_requests_running')).toBe(0);
    await weir.settled();
    const [row] = await weir.ledger();
    expect(row).toMatchObject({ outcome: 'cancelled', counted_by: 'engine' });
    // What was on its way when the caller left counts, too.
    expect(Number(row?.['completion_tokens'])).toBeGreaterThanOrEqual(heard.length);
  });
});
