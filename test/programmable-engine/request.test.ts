import fc from 'fast-check';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';

import { startProgrammableEngine } from './engine.ts';
import { arrayOr, type JsonObject, objectOr } from './json-value.ts';
import { choiceOf, messageOf, poster, timeTool as time, user, weatherTool as weather } from './question.ts';
const engine = await startProgrammableEngine({ models: ['m', { id: 'small', maxModelLen: 60 }] });
const post = poster(engine, 'm');
afterAll(async () => engine.close());
beforeEach(() => engine.reset());

describe('tools', () => {
  const called = async (body: JsonObject): Promise<readonly unknown[]> =>
    arrayOr(messageOf((await post({ tools: [weather, time], ...body })).json)['tool_calls']).map(
      (call) => objectOr(objectOr(call)['function'])['name'],
    );

  test.each([
    ['nothing in particular', { messages: user('hello') }, []],
    ['a tool that the message names', { messages: user('use get_time') }, ['get_time']],
    ['several in the order of the message', { messages: user('get_time, get_weather') }, ['get_time', 'get_weather']],
    [
      'one where calls may not be parallel',
      { messages: user('get_time, get_weather'), parallel_tool_calls: false },
      ['get_time'],
    ],
    ['some tool where one is required', { messages: user('hello'), tool_choice: 'required' }, ['get_weather']],
    [
      'the one that is named',
      { messages: user('hello'), tool_choice: { type: 'function', function: { name: 'get_time' } } },
      ['get_time'],
    ],
    ['none where none is allowed', { messages: user('get_time'), tool_choice: 'none' }, []],
    ['none after a tool has answered', { messages: [...user('get_time'), { role: 'tool', content: '12:00' }] }, []],
  ])('are called: %s', async (_, body, names) => {
    expect(await called(body)).toEqual(names);
  });

  test('the answer after a tool quotes what the tool said', async () => {
    const { json } = await post({
      messages: [...user('get_time'), { role: 'tool', content: 'CANARY-3' }],
      tools: [time],
    });
    expect(messageOf(json)['content']).toContain('CANARY-3');
  });

  test('arguments are an instance of their schema', async () => {
    const { json } = await post({ messages: user('get_weather for CANARY-4'), tools: [weather] });
    const call = objectOr(arrayOr(messageOf(json)['tool_calls'])[0]);
    expect(JSON.parse(String(objectOr(call['function'])['arguments']))).toMatchObject({
      city: 'get_weather for CANARY-4',
    });
    expect(messageOf(json)['content']).toBeNull();
    expect(choiceOf(json)['finish_reason']).toBe('tool_calls');
  });
});

describe('what a real engine refuses is refused', () => {
  test.each([
    ['an unknown model', { model: 'other' }, 404, 'does not exist'],
    ['no messages', { messages: [] }, 400, 'messages must be'],
    ['an unknown role', { messages: [{ role: 'robot', content: '' }] }, 400, 'messages[0].role'],
    ['empty tools', { tools: [] }, 400, 'tools must not be an empty array'],
    ['a choice without tools', { tool_choice: 'required' }, 400, '`tools` must be set'],
    [
      'a named tool that is not there',
      { tools: [time], tool_choice: { type: 'function', function: { name: 'x' } } },
      400,
      'does not match',
    ],
    ['stream options without a stream', { stream_options: { include_usage: true } }, 400, 'Stream options'],
    ['top_logprobs alone', { top_logprobs: 3 }, 400, '`logprobs` must be set'],
    ['a schema format without schema', { response_format: { type: 'json_schema' } }, 400, 'json_schema must be given'],
    ['a cap that is no number', { max_tokens: 'ten' }, 400, 'max_tokens must be an integer'],
    [
      'more than fits the window',
      { model: 'small', max_tokens: 60 },
      400,
      'maximum context length is 60 tokens. However, you requested',
    ],
    [
      'a field it was told to reject',
      { logit_bias: {}, demo: { rejectFields: ['logit_bias'] } },
      400,
      "'logit_bias' is not supported",
    ],
    ['a directive that is wrong', { messages: user('[[words=many]]') }, 400, 'words must be an integer'],
  ])('%s', async (_, body, status, message) => {
    const answer = await post({ messages: user('go'), ...body });
    expect(answer.status).toBe(status);
    expect(objectOr(answer.json['error'])['message']).toContain(message);
  });

  test('an answer without a cap ends at the window', async () => {
    const { json } = await post({ model: 'small', messages: user('go') });
    expect(choiceOf(json)['finish_reason']).toBe('length');
    expect(objectOr(json['usage'])['total_tokens']).toBe(60);
  });
});

test('any body gets an answer, and none stops the engine', async () => {
  const value = fc.jsonValue({ maxDepth: 3 });
  const message = fc.record(
    {
      role: fc.constantFrom('system', 'user', 'assistant', 'tool'),
      content: fc.oneof(fc.string(), value),
      tool_calls: value,
    },
    { requiredKeys: ['role'] },
  );
  const body = fc.record(
    {
      messages: fc.oneof(fc.array(message, { minLength: 1, maxLength: 4 }), value),
      stream: fc.boolean(),
      n: fc.oneof(fc.integer({ min: -1, max: 4 }), value),
      stop: value,
      tools: fc.oneof(value, fc.constant([weather, time])),
      tool_choice: fc.oneof(value, fc.constant('required')),
      response_format: fc.oneof(
        value,
        value.map((schema) => ({ type: 'json_schema', json_schema: { schema } })),
      ),
      thinking: value,
      reasoning: value,
      max_tokens: fc.oneof(fc.integer({ min: 1, max: 90 }), value),
      logprobs: fc.boolean(),
      stream_options: value,
    },
    { requiredKeys: ['messages'] },
  );
  await fc.assert(
    fc.asyncProperty(body, async (sent) => {
      const { status, text } = await post({ ...sent, model: 'm', stream: sent.stream ?? false });
      return status === 200 ? text.length > 0 : status === 400 && text.startsWith('{"error"');
    }),
    { numRuns: 300 },
  );
});
