import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parametersOf } from '../../src/core/parameters.ts';
import { type Llama, startLlama } from '../support/llama.ts';
import { startWeir, type Weir } from '../support/weir.ts';
import { forFile } from '../support/for-file.ts';

// Whether the row for llama.cpp in our tables is true: asked of a real one, through the whole gateway.

const manifest = (port: number): string => `
apiVersion: weir.dev/v1alpha1
kind: Backend
metadata: {name: llama}
spec: {engine: llamacpp, endpoint: {host: 127.0.0.1, port: ${port}, path: /v1}}
---
apiVersion: weir.dev/v1alpha1
kind: Model
metadata: {name: tiny}
spec:
  id: test/tiny
  ownedBy: test
  added: "2026-06-01T00:00:00Z"
  contextLength: 4096
  pricing: {prompt: "0.0000001", completion: "0.0000002"}
  reasoning: {mode: Optional, efforts: [low, high]}
  routes: [{backend: llama, upstreamModel: tiny}]
`;

const llama = await forFile(startLlama({ parallel: 1 }));
const weir = await forFile(startWeir({ manifests: { 'catalog.yaml': manifest(llama.port) } }));

const ask = (more: object = {}) => ({
  model: 'test/tiny',
  messages: [{ role: 'user' as const, content: 'the tide comes in' }],
  max_tokens: 12,
  temperature: 0,
  ...more,
});
const weather = {
  type: 'function' as const,
  function: {
    name: 'get_weather',
    parameters: {
      type: 'object',
      properties: { dry: { type: 'boolean' } },
      required: ['dry'],
      additionalProperties: false,
    },
  },
};

/** A value for every parameter that could be in the row. */
const values: Readonly<Record<string, unknown>> = {
  ...{ temperature: 0.7, top_p: 0.9, stop: ['zzz'], seed: 7, n: 2, logprobs: true, logit_bias: { '5': -1 } },
  ...{ frequency_penalty: 0.5, presence_penalty: 0.5, top_k: 10, min_p: 0.05, repetition_penalty: 1.1 },
};
const together: Readonly<Record<string, object>> = {
  top_logprobs: { logprobs: true, top_logprobs: 2 },
  parallel_tool_calls: { parallel_tool_calls: false, tools: [weather], tool_choice: 'required', max_tokens: 200 },
};

describe('every parameter of the row', () => {
  it.each(parametersOf('llamacpp'))('%s is accepted, streamed and not', async (name) => {
    for (const stream of [false, true]) {
      const response = await weir.chat(ask({ stream, ...(together[name] ?? { [name]: values[name] }) }));
      const text = await response.text();
      expect([response.status, text.includes('"error"')], text).toEqual([200, false]);
    }
  });

  it('logprobs come back in the shape they were sent in', async () => {
    const answer = await weir.client().chat.completions.create(ask({ logprobs: true, top_logprobs: 2 }));
    const content = answer.choices[0]?.logprobs?.content ?? [];
    expect(content).toHaveLength(12);
    expect(content[0]).toMatchObject({ token: expect.any(String), logprob: expect.any(Number) });
    expect(content[0]?.top_logprobs).toHaveLength(2);
  });

  it('a seed makes an answer that can be had again', async () => {
    const once = async () => {
      const answer = await weir.client().chat.completions.create(ask({ temperature: 1, seed: 42 }));
      return answer.choices[0]?.message.content;
    };
    expect(await once()).toBe(await once());
  });
});

it.each([false, true])('a schema is obeyed, stream: %s', async (stream) => {
  const schema = {
    type: 'object',
    properties: { dry: { type: 'boolean' }, level: { enum: ['low', 'high'] } },
    required: ['dry', 'level'],
    additionalProperties: false,
  };
  const request = ask({
    max_tokens: 300,
    response_format: { type: 'json_schema', json_schema: { name: 'w', schema, strict: true } },
  });
  const answer = stream
    ? await weir.client().chat.completions.stream(request).finalChatCompletion()
    : await weir.client().chat.completions.create(request);
  const value = JSON.parse(answer.choices[0]?.message.content ?? '') as object;
  expect(value).toEqual({ dry: expect.any(Boolean), level: expect.stringMatching(/^(low|high)$/) });
});

describe('tools, with a template that knows them', () => {
  let withTools: Llama;
  let gateway: Weir;

  beforeAll(async () => {
    const template = join(import.meta.dirname, 'tools-template.jinja');
    withTools = await startLlama({ parallel: 1, extra: ['--chat-template-file', template] });
    gateway = await startWeir({ manifests: { 'catalog.yaml': manifest(withTools.port) } });
  });
  afterAll(async () => {
    await gateway.close();
    await withTools.close();
  });

  const other = {
    type: 'function' as const,
    function: { name: 'other', parameters: { type: 'object', properties: {} } },
  };
  const named = { type: 'function' as const, function: { name: 'get_weather' } };

  it('reasoning off and on reach the template: it writes more when told not to', async () => {
    const promptTokens = async (effort: 'none' | 'high'): Promise<number> => {
      const answer = await gateway.client().chat.completions.create(ask({ reasoning_effort: effort }));
      return answer.usage?.prompt_tokens ?? 0;
    };
    expect(await promptTokens('none')).toBe((await promptTokens('high')) + '<|no_think|>'.length);
  });

  it.each([
    ['required', false, 'required', [weather]],
    ['required', true, 'required', [weather]],
    ['a named one of two', false, named, [other, weather]],
    ['a named one of two', true, named, [other, weather]],
  ] as const)('%s: the call is sound, stream: %s', async (_, stream, choice, tools) => {
    const request = ask({ max_tokens: 300, tools, tool_choice: choice, parallel_tool_calls: false });
    const completions = gateway.client().chat.completions;
    const answer = stream ? await completions.stream(request).finalChatCompletion() : await completions.create(request);
    const [call, ...more] = answer.choices[0]?.message.tool_calls ?? [];
    if (call?.type !== 'function') throw new Error('expected a call');
    expect(more).toEqual([]);
    expect(answer.choices[0]?.finish_reason).toBe('tool_calls');
    expect(call.function.name).toBe('get_weather');
    expect(JSON.parse(call.function.arguments)).toEqual({ dry: expect.any(Boolean) });
  });
});

it('tools and a schema at once are refused by us, before the engine does', async () => {
  const response = await weir.chat(ask({ tools: [weather], response_format: { type: 'json_object' } }));
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ error: { code: 'param_combination_not_supported' } });
});

it.each(['none', 'low', 'high', undefined])('reasoning_effort %s is accepted', async (effort) => {
  const response = await weir.chat(ask(effort === undefined ? {} : { reasoning_effort: effort }));
  expect([response.status, (await response.text()).includes('"error"')]).toEqual([200, false]);
});

it('what the engine had cached is read, and billed at the cached rate', async () => {
  const words = 'a river that nobody has seen before runs here '.repeat(3);
  const request = ask({ messages: [{ role: 'user' as const, content: words }] });
  const first = await weir.client().chat.completions.create(request);
  const second = await weir.client().chat.completions.create(request);
  const cached = second.usage?.prompt_tokens_details?.cached_tokens ?? 0;
  expect(cached).toBeGreaterThan(20);
  expect(cached).toBeLessThanOrEqual(second.usage?.prompt_tokens ?? 0);
  expect(second.usage?.prompt_tokens).toBe(first.usage?.prompt_tokens);
});

it('n is refused, because it is not in the row', async () => {
  const response = await weir.chat(ask({ n: 2 }));
  expect(await response.json()).toMatchObject({
    error: { code: 'param_not_supported', message: expect.stringContaining('n:') },
  });
});
