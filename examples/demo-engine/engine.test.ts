import { afterEach, expect, test } from 'vitest';
import { type DemoEngine, startDemoEngine } from './engine.ts';

let engine: DemoEngine | undefined;
afterEach(async () => {
  await engine?.close();
  engine = undefined;
});

/** Asks an engine that waits for nothing, and returns status and text. */
async function ask(more: object, path = '/v1/chat/completions'): Promise<{ status: number; text: string }> {
  engine ??= await startDemoEngine({ port: 0, host: '127.0.0.1', models: ['demo-chat'], tokenMs: 0 });
  const messages = [{ role: 'user', content: 'What is a weir?' }];
  const response = await fetch(engine.url + path, {
    method: 'POST',
    body: JSON.stringify({ model: 'demo-chat', messages, ...more }),
  });
  return { status: response.status, text: await response.text() };
}

interface Choice {
  readonly index: number;
  readonly message: { readonly content: string; readonly reasoning: string | null };
  readonly delta: { readonly content?: string; readonly reasoning?: string };
  readonly finish_reason: string | null;
}
interface Body {
  readonly choices: readonly Choice[];
  readonly usage?: { readonly completion_tokens: number; readonly total_tokens: number };
}
const whole = async (more: object = {}): Promise<Body> => JSON.parse((await ask(more)).text) as Body;
const events = async (more: object): Promise<readonly Body[]> => {
  const { text } = await ask({ stream: true, ...more });
  expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
  return [...text.matchAll(/^data: (\{.*)$/gm)].map(([, json = '']) => JSON.parse(json) as Body);
};
const contentOf = (body: Body): string => body.choices[0]?.message.content ?? '';

test('a stream says what the whole answer says, in one event per token, with its usage at the end', async () => {
  const answer = await whole();
  const streamed = await events({ stream_options: { include_usage: true } });
  const deltas = streamed.flatMap(({ choices }) => choices.map(({ delta }) => delta.content ?? ''));
  expect(deltas.join('')).toBe(contentOf(answer));
  expect(contentOf(answer)).toContain('“What is a weir?”');
  expect(streamed.at(-1)).toMatchObject({ choices: [], usage: answer.usage });
  expect(deltas.filter((text) => text !== '').length).toBe(answer.usage?.completion_tokens);
  expect((await events({})).some(({ usage }) => usage !== undefined)).toBe(false);
  const continuous = { include_usage: true, continuous_usage_stats: true };
  expect((await events({ stream_options: continuous })).every(({ usage }) => usage !== undefined)).toBe(true);
});

test('a question that names a number of words gets so many, and 40 words are usual', async () => {
  const messages = [{ role: 'user', content: [{ type: 'text', text: 'Tell me about weirs in 200 words.' }] }];
  expect(contentOf(await whole({ messages })).split(' ')).toHaveLength(200);
  expect(contentOf(await whole()).split(' ')).toHaveLength(40);
});

test('reasoning comes first where it is switched on, and a cap cuts both', async () => {
  const on = { chat_template_kwargs: { enable_thinking: true } };
  expect((await whole()).choices[0]?.message.reasoning).toBeNull();
  expect((await whole(on)).choices[0]?.message.reasoning).toContain('The question is');
  const { choices, usage } = await whole({ ...on, max_tokens: 3 });
  expect(choices[0]).toMatchObject({ message: { content: '' }, finish_reason: 'length' });
  expect(usage?.completion_tokens).toBe(3);
});

test('a partial answer is continued, a stop text ends the answer, and choices differ', async () => {
  const answer = contentOf(await whole());
  const user = { role: 'user', content: 'What is a weir?' };
  const partial = { role: 'assistant', content: answer.slice(0, 30) };
  expect(contentOf(await whole({ messages: [user, partial] }))).toBe(answer.slice(30));
  expect(contentOf(await whole({ stop: [' the demo'] }))).toBe(answer.slice(0, answer.indexOf(' the demo')));
  const { choices } = await whole({ n: 2 });
  expect(new Set(choices.map(({ message }) => message.content)).size).toBe(2);
});

test('a response format gets JSON of the form that its schema has', async () => {
  const schema = {
    type: 'object',
    properties: {
      name: { type: 'string' },
      kind: { enum: ['river', 'lake'] },
      deep: { $ref: '#/$defs/depth' },
      parts: { type: 'array', items: { type: ['object', 'null'], properties: { ok: { type: 'boolean' } } } },
      either: { anyOf: [{ type: 'null' }, { type: 'string' }] },
    },
    $defs: { depth: { type: 'integer' } },
  };
  const text = contentOf(await whole({ response_format: { type: 'json_schema', json_schema: { name: 'a', schema } } }));
  expect(JSON.parse(text)).toEqual({
    name: 'What is a weir?',
    ...{ kind: 'river', deep: 1, parts: [{ ok: true }], either: null },
  });
  expect(contentOf(await whole({ response_format: { type: 'json_object' } }))).toBe('{}');
});

interface Embedded {
  readonly data: readonly { readonly index: number; readonly embedding: readonly number[] | string }[];
  readonly usage: object;
}

test('texts that share words have vectors that are near, as numbers and in base64', async () => {
  const input = ['How high is the weir?', 'The weir is high', 'Bread and butter', ' '];
  const embed = async (format?: string): Promise<Embedded> =>
    JSON.parse((await ask({ input, encoding_format: format }, '/v1/embeddings')).text) as Embedded;
  const { data, usage } = await embed();
  const vectors = data.map(({ embedding }) => Array.from(embedding, Number));
  const near = (left = 0, right = 0): number =>
    (vectors[left] ?? []).reduce((sum, value, at) => sum + value * (vectors[right]?.[at] ?? 0), 0);
  expect(vectors.map((vector, at) => [vector.length, near(at, at)])).toEqual(
    input.map(() => [256, expect.closeTo(1, 5)]),
  );
  expect(near(0, 1)).toBeGreaterThan(0.8);
  expect(near(0, 2)).toBeLessThan(0.3);
  expect(usage).toEqual({ prompt_tokens: 13, total_tokens: 13 });
  const base64 = await embed('base64');
  const floats = base64.data.map(({ embedding }) => {
    const bytes = Buffer.from(String(embedding), 'base64');
    return Array.from({ length: bytes.length / 4 }, (_, at) => bytes.readFloatLE(at * 4));
  });
  expect(floats).toEqual(vectors);
});

test('what it cannot read is refused with a sentence, and so are models and paths that it does not have', async () => {
  expect(await ask({ messages: [] })).toEqual({ status: 400, text: expect.stringContaining('messages') });
  expect(await ask({ model: 'other' })).toEqual({ status: 404, text: expect.stringContaining('`other`') });
  expect((await ask({}, '/v1/completions')).status).toBe(404);
  expect(await ask({}, '/v1/embeddings')).toEqual({ status: 400, text: expect.stringContaining('input') });
  expect((await ask({ input: 'a', model: 'other' }, '/v1/embeddings')).status).toBe(404);
  expect((await ask({}, '/health')).status).toBe(200);
  expect((await ask({}, '/v1/models')).text).toContain('"id":"demo-chat"');
});
