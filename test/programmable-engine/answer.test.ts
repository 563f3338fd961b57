import OpenAI from 'openai';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';

import { startProgrammableEngine } from './engine.ts';
import { arrayOr, type JsonObject, objectOr } from './json-value.ts';
import { choiceOf, messageOf, poster, timeTool as time, user, weatherTool as weather } from './question.ts';
import { eventJson, joinedField } from './stream-events.ts';
import { countTokens } from './tokens.ts';

const engine = await startProgrammableEngine({ models: ['m', { id: 'small', maxModelLen: 60 }] });
const client = new OpenAI({ baseURL: `${engine.url}/v1`, apiKey: 'none', maxRetries: 0 });
afterAll(async () => engine.close());
beforeEach(() => engine.reset());

const post = poster(engine, 'm');

describe('the answer', () => {
  test('is the same for the same conversation, streamed or not, and quotes the prompt', async () => {
    const messages = user('tell me about CANARY-1');
    const whole = await post({ messages });
    const again = await post({
      messages: [{ role: 'user', content: [{ type: 'text', text: 'tell me about CANARY-1' }] }],
    });
    const streamed = await post({ messages, stream: true });
    const message = messageOf(whole.json);
    expect(message['content']).toContain('CANARY-1');
    expect(message['reasoning_content']).toContain('CANARY-1');
    expect(messageOf(again.json)).toEqual(message);
    expect(joinedField(streamed.text, 'content')).toBe(message['content']);
    expect(joinedField(streamed.text, 'reasoning_content')).toBe(message['reasoning_content']);
    expect(messageOf((await post({ messages, seed: 7 })).json)['content']).not.toBe(message['content']);
  });

  test('satisfies the official client, with its stream helper and its usage', async () => {
    const stream = client.chat.completions.stream({
      model: 'm',
      messages: [{ role: 'user', content: 'please get_weather and get_time' }],
      tools: [weather, time],
      stream_options: { include_usage: true },
    });
    const final = await stream.finalChatCompletion();
    expect(final.choices[0]?.finish_reason).toBe('tool_calls');
    const calls = final.choices[0]?.message.tool_calls ?? [];
    expect(calls.map((call) => call.type === 'function' && call.function.name)).toEqual(['get_weather', 'get_time']);
    expect(final.usage?.total_tokens).toBe((final.usage?.prompt_tokens ?? 0) + (final.usage?.completion_tokens ?? 0));
  });

  test('is as many words as asked, and a longer one begins with a shorter one', async () => {
    const short = messageOf((await post({ messages: user('go [[words=30]]') })).json)['content'];
    const long = messageOf((await post({ messages: user('go [[words=90]]') })).json)['content'];
    expect(String(short).split(/\s+/u)).toHaveLength(30);
    expect(String(long).split(/\s+/u)).toHaveLength(90);
    expect(String(long).startsWith(String(short).replace(/\.$/u, ''))).toBe(true);
  });

  test('has the role first, one finish, and usage null until its own chunk', async () => {
    const { text } = await post({ messages: user('go'), stream: true, stream_options: { include_usage: true } });
    const chunks = eventJson(text);
    expect(objectOr(choiceOf(chunks[0] ?? {})['delta'])).toEqual({ role: 'assistant', content: '' });
    expect(new Set(chunks.map((chunk) => `${String(chunk['id'])} ${String(chunk['created'])}`)).size).toBe(1);
    expect(chunks.filter((chunk) => choiceOf(chunk)['finish_reason'] === 'stop')).toHaveLength(1);
    expect(chunks.slice(0, -1).every((chunk) => chunk['usage'] === null)).toBe(true);
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { total_tokens: expect.any(Number) } });
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
  });

  test('carries running usage when it is asked for, and the last is the final one', async () => {
    const options = { include_usage: true, continuous_usage_stats: true };
    const { text } = await post({ messages: user('go'), stream: true, stream_options: options });
    const counts = eventJson(text).map((chunk) => Number(objectOr(chunk['usage'])['completion_tokens']));
    expect(counts).toEqual(counts.toSorted((left, right) => left - right));
    expect(counts[0]).toBe(0);
    expect(counts.at(-2)).toBe(counts.at(-1));
    expect(counts.at(-1)).toBe(
      countTokens(joinedField(text, 'content')) + countTokens(joinedField(text, 'reasoning_content')),
    );
  });

  test('is cut at the cap, reasoning first, and says so', async () => {
    const whole = messageOf((await post({ messages: user('go') })).json);
    for (const maxTokens of [1, 5, 30, 45]) {
      const { json } = await post({ messages: user('go'), max_tokens: 999, max_completion_tokens: maxTokens });
      const message = messageOf(json);
      expect(choiceOf(json)['finish_reason']).toBe('length');
      expect(objectOr(json['usage'])['completion_tokens']).toBe(maxTokens);
      expect(String(whole['reasoning_content']) + String(whole['content'])).toContain(
        String(message['reasoning_content']),
      );
    }
  });

  test('ends before a stop string', async () => {
    const whole = String(messageOf((await post({ messages: user('go') })).json)['content']);
    const stop = whole.split(' ')[9] ?? '';
    const { json } = await post({ messages: user('go'), stop: ['nowhere', ` ${stop}`] });
    expect(messageOf(json)['content']).toBe(whole.slice(0, whole.indexOf(` ${stop}`)));
    expect(choiceOf(json)).toMatchObject({ finish_reason: 'stop', stop_reason: ` ${stop}` });
  });

  test('comes in as many choices as asked, all different, in turns on a stream', async () => {
    const { json } = await post({ messages: user('go'), n: 3 });
    const texts = arrayOr(json['choices']).map((choice) => objectOr(objectOr(choice)['message'])['content']);
    expect(new Set(texts).size).toBe(3);
    const { text } = await post({ messages: user('go'), n: 3, stream: true });
    expect([0, 1, 2].map((index) => joinedField(text, 'content', index))).toEqual(texts);
    expect(
      eventJson(text)
        .slice(0, 4)
        .map((chunk) => choiceOf(chunk)['index']),
    ).toEqual([0, 1, 2, 0]);
  });

  test('has logprobs for every token, alternatives included', async () => {
    const { json } = await post({ messages: user('go'), logprobs: true, top_logprobs: 2 });
    const entries = arrayOr(objectOr(choiceOf(json)['logprobs'])['content']).map(objectOr);
    expect(entries.map((entry) => entry['token']).join('')).toBe(messageOf(json)['content']);
    expect(arrayOr(entries[0]?.['top_logprobs'])).toHaveLength(2);
  });

  test('keeps to a JSON schema', async () => {
    const schema = {
      type: 'object',
      properties: { city: { type: 'string' }, level: { enum: [1, 2] } },
      required: ['city', 'level'],
    };
    const format = { type: 'json_schema', json_schema: { name: 'x', schema } };
    const { json } = await post({ messages: user('go CANARY-2'), response_format: format });
    expect(JSON.parse(String(messageOf(json)['content']))).toEqual({ city: 'go CANARY-2', level: expect.any(Number) });
    const plain = await post({ messages: user('go'), response_format: { type: 'json_object' } });
    expect(JSON.parse(String(messageOf(plain.json)['content']))).toMatchObject({ answer: 'go' });
  });

  test('counts as cached the messages that were seen before', async () => {
    const messages = [{ role: 'system', content: 'be brief and kind' }, ...user('one')];
    const cached = async (sent: readonly JsonObject[]): Promise<unknown> =>
      objectOr(objectOr((await post({ messages: sent })).json['usage'])['prompt_tokens_details'])['cached_tokens'];
    expect(await cached(messages)).toBe(0);
    expect(await cached([messages[0] ?? {}, ...user('two')])).toBe(8);
    expect(await cached([...messages, { role: 'assistant', content: 'a' }, ...user('three')])).toBe(13);
    const salted = objectOr((await post({ messages, cache_salt: 'x' })).json['usage']);
    expect(objectOr(salted['prompt_tokens_details'])['cached_tokens']).toBe(0);
  });
});

describe('what was asked for is done', () => {
  test('a text word for word', async () => {
    expect(messageOf((await post({ messages: user('go'), demo: { content: 'Exactly  this.' } })).json)['content']).toBe(
      'Exactly  this.',
    );
  });

  test('a script, step by step, also where an agent adds words of its own to what the tools answered', async () => {
    const script = [
      { say: '', call: [{ name: 'get_time', arguments: '{}' }] },
      { say: 'Noon.', call: [] },
    ];
    engine.set({ script });
    const messages = user('What time is it?');
    const called = messageOf((await post({ messages, tools: [time] })).json);
    const answered = [...messages, called, { role: 'tool', tool_call_id: 'a', content: '12:00' }];
    const reminder = { role: 'user', content: 'Remember to be brief.' };
    expect(called).toMatchObject({ tool_calls: [{ function: { name: 'get_time' } }] });
    expect(messageOf((await post({ messages: answered })).json)['content']).toBe('Noon.');
    expect(messageOf((await post({ messages: [...answered, reminder] })).json)['content']).toBe('Noon.');
    const next = [...answered, { role: 'assistant', content: 'Noon.' }, ...user('And now?')];
    expect(messageOf((await post({ messages: next })).json)).toMatchObject({ tool_calls: [{}] });
  });

  test('tools that nobody mentioned, one of them twice', async () => {
    const { json } = await post({
      messages: user('go'),
      tools: [weather, time],
      demo: { callTools: ['get_time', 'get_weather', 'get_time'] },
    });
    const calls = arrayOr(messageOf(json)['tool_calls']).map(objectOr);
    expect(calls.map((call) => objectOr(call['function'])['name'])).toEqual(['get_time', 'get_weather', 'get_time']);
    expect(new Set(calls.map((call) => call['id'])).size).toBe(3);
  });

  test.each([
    ['any model', { model: 'other', demo: { anyModel: true } }, 200],
    ['loose manners', { tools: [], demo: { strict: false } }, 200],
    ['a smaller window', { max_tokens: 50, demo: { contextLength: 20 } }, 400],
  ])('%s', async (_, body, status) => {
    expect((await post({ messages: user('go'), ...body })).status).toBe(status);
  });

  test('a floor under the length, up to the cap', async () => {
    const { json } = await post({ messages: user('go'), ignore_eos: true, max_tokens: 300 });
    expect(choiceOf(json)['finish_reason']).toBe('length');
    expect(objectOr(json['usage'])['completion_tokens']).toBe(300);
  });
});

test('a refusal is in its field, in the text, or in the field with another reason', async () => {
  const refused = async (refusal: string): Promise<unknown> => {
    const { json } = await post({ messages: user(`go [[refusal=${refusal}]]`), reasoning_effort: 'none' });
    const { content, refusal: said } = messageOf(json);
    return [content === null, said === null, choiceOf(json)['finish_reason']];
  };
  expect(await refused('field')).toEqual([true, false, 'stop']);
  expect(await refused('content-filter')).toEqual([false, true, 'content_filter']);
  expect(await refused('both')).toEqual([true, false, 'content_filter']);
});

test('every answer gives the engine away until it is told not to', async () => {
  const response = await fetch(`${engine.url}/v1/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({ model: 'm', messages: user('go') }),
  });
  const seen = JSON.stringify([...response.headers]) + (await response.text());
  expect(engine.marks.filter((mark) => seen.includes(mark))).toEqual(['demo-engine', 'demoengine', 'uvicorn']);
  engine.set({ identify: false });
  const discreet = await fetch(`${engine.url}/v1/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({ model: 'm', messages: user('go') }),
  });
  const quiet = JSON.stringify([...discreet.headers]) + (await discreet.text());
  expect(engine.marks.filter((mark) => quiet.includes(mark))).toEqual([]);
});
