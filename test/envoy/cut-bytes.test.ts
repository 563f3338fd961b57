// @suite long
import type OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type ProgrammableEngine, startProgrammableEngine } from '../programmable-engine/engine.ts';
import type { BehaviourInput } from '../programmable-engine/behaviour.ts';
import { byteCuts } from './support/byte-cuts.ts';
import { numberIds } from './support/fault-sweep/number-ids.ts';
import { putTogether } from './support/put-together.ts';
import { startWeir, type Weir } from '../support/weir.ts';

type Body = Omit<OpenAI.Chat.ChatCompletionCreateParamsStreaming, 'stream' | 'stream_options'>;

let engine: ProgrammableEngine;
let weir: Weir;

beforeAll(async () => {
  engine = await startProgrammableEngine({ name: 'alpha' });
  weir = await startWeir({ engines: [engine], unlimited: true });
});
beforeEach(() => engine.reset());
afterAll(async () => {
  await weir.close();
  await engine.close();
});

function tool(name: string, field: string) {
  const parameters = { type: 'object', properties: { [field]: { type: 'string' } }, required: [field] };
  return { type: 'function' as const, function: { name, parameters } };
}

function ask(content: string, fields: Partial<Body> = {}): Body {
  return { model: 'test/model', messages: [{ role: 'user', content }], ...fields };
}

const person = {
  type: 'object',
  properties: { name: { type: 'string' }, nick: { type: 'array', items: { type: 'string' } } },
  required: ['name', 'nick'],
};

/** What an engine can say: the request, and what it is told besides. The same cached tokens each time, so that the cost is the same. */
const answers: Readonly<Record<string, readonly [Body, BehaviourInput]>> = {
  text: [ask('Say hello.'), { reasoning: 'never' }],
  'reasoning and text': [ask('Why is the sky blue?'), {}],
  'tools in parallel': [
    ask('get_weather of Ulm “now”, then get_time of \\ Rome', {
      tools: [tool('get_weather', 'city'), tool('get_time', 'place')],
      tool_choice: 'required',
    }),
    { callTools: ['get_weather', 'get_time', 'get_weather'], toolPreamble: true },
  ],
  'three choices': [ask('Name a river.', { n: 3 }), {}],
  'JSON mode': [ask('A name, as JSON.', { response_format: { type: 'json_object' } }), {}],
  'JSON of a schema': [
    ask('Zoë “Z” O’Neil', {
      response_format: { type: 'json_schema', json_schema: { name: 'person', schema: person } },
    }),
    {},
  ],
  unicode: [ask('Grüße, 東京 👩‍👩‍👧‍👦!'), { unicode: true, words: 30 }],
  refusal: [ask('Do harm.'), { refusal: 'field' }],
  'a filtered refusal': [ask('Do harm.'), { refusal: 'content-filter' }],
  'text with probabilities': [ask('Say hello.', { logprobs: true, top_logprobs: 2 }), { reasoning: 'never' }],
};

/** One answer, read with the official client's stream helper and, the same bytes, without it. */
async function read(body: Body) {
  let raw: Promise<string> | undefined;
  const fetchTwice: typeof fetch = async (input, init) => {
    const response = await weir.fetch(input, init);
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    const [one, other] = response.body?.tee() ?? [];
    raw = new Response(one).text();
    return new Response(other, response);
  };
  const client = weir.client().withOptions({ fetch: fetchTwice });
  const stream = client.chat.completions.stream({ ...body, stream_options: { include_usage: true } });
  const { id: _id, created: _created, ...final } = await stream.finalChatCompletion();
  // Of fields it does not know, the helper keeps the last piece only: how much that is depends on how bytes arrived.
  const whole = JSON.parse(JSON.stringify(final, (name, value) => (name.startsWith('reasoning') ? undefined : value)));
  const bare = putTogether((await raw) ?? '');
  return { bare, throughClient: whole, numbered: numberIds({ bare, throughClient: whole }) };
}

test.each(Object.entries(answers))(
  'a streamed answer (%s) is the same however its bytes are cut or glued',
  async (_, [body, said]) => {
    const steady = { words: 8, reasoningWords: 5, cachedTokens: 3, ...said };
    engine.set(steady);
    const whole = await read(body);
    expect(whole.bare.choices.length).toBe(body.n ?? 1);
    const texts = (choices: readonly { readonly message: { readonly content?: string | null } }[]): readonly string[] =>
      choices.map(({ message }) => message.content ?? '');
    expect(texts(whole.throughClient.choices)).toEqual(texts(whole.bare.choices));
    for (const cut of byteCuts) {
      engine.set({ ...steady, ...cut });
      expect((await read(body)).numbered, JSON.stringify(cut)).toEqual(whole.numbered);
    }
    engine.set({ ...steady, chunkBytes: 1 });
    const { choices, usage } = await weir.client().chat.completions.create(body);
    expect(numberIds({ choices, usage }), 'not streamed').toEqual(
      numberIds({ choices: whole.bare.choices, usage: whole.bare.usage }),
    );
  },
);

test('a pause at any byte of an answer changes nothing', async () => {
  engine.set({ cachedTokens: 3, unicode: true, words: 3, reasoning: 'never', identify: false });
  const raw = async (content: string): Promise<string> =>
    (await weir.chat({ ...ask(content), stream: true, stream_options: { include_usage: true } })).text();
  const direct = await fetch(`${engine.url}/v1/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({ ...ask('é'), model: 'demo-chat', stream: true, stream_options: { include_usage: true } }),
  });
  const { length } = Buffer.from(await direct.arrayBuffer());
  expect(length).toBeGreaterThan(500);
  const whole = putTogether(await raw('é'));
  const positions = Array.from({ length }, (_, at) => at);
  const worker = async (): Promise<void> => {
    for (let at = positions.pop(); at !== undefined; at = positions.pop()) {
      const answer = await raw(`é[[demo {"stallAtByte": ${at}, "stallMs": 1}]]`);
      expect(putTogether(answer), `byte ${at}`).toEqual(whole);
    }
  };
  await Promise.all(Array.from({ length: 16 }, worker));
});
