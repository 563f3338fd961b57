import { expect, test } from 'vitest';
import { startProgrammableEngine } from '../programmable-engine/engine.ts';
import { http1Caller, type OpenAnswer } from './support/caller.ts';
import { putTogether } from './support/put-together.ts';
import { backendManifest, modelManifest, startWeir } from '../support/weir.ts';
import { forFile } from '../support/for-file.ts';

const engine = await forFile(startProgrammableEngine({ name: 'alpha', behaviour: { reasoning: 'never' } }));
const spare = await forFile(startProgrammableEngine({ name: 'beta', behaviour: { reasoning: 'never' } }));
const backends = backendManifest('only', engine) + backendManifest('spare', spare);
const models = [
  modelManifest('test/model', ['only']),
  modelManifest('test/two', ['only', 'spare'], '  hedging: {mode: Disabled}'),
];
const weir = await forFile(
  startWeir({
    engines: [engine, spare],
    env: { WEIR_KEEP_ALIVE_SECONDS: '1' },
    manifests: { 'catalog.yaml': backends + models.join('') },
  }),
);
const caller = await forFile(http1Caller(weir));

const question = (directives: object) => ({
  model: 'test/model',
  messages: [{ role: 'user' as const, content: `Well? [[demo ${JSON.stringify({ words: 12, ...directives })}]]` }],
});
const streamed = { stream: true, stream_options: { include_usage: true } } as const;
/** Its pause lasts until the test ends it. */
const slow = { firstTokenDelayMs: 1 } as const;
/** A chunk that says nothing, the first with the role. Clients do not count comments. */
const sign =
  /^data: [^\n]*"delta":\{(?:"role":"assistant","content":"")?\},"logprobs":null,"finish_reason":null\}[^\n]*\n\n/gm;

interface Heard {
  readonly answer: OpenAnswer;
  /** To the head of the answer. */
  readonly headMs: number;
}

async function listen(body: object, id: string): Promise<Heard> {
  const begun = performance.now();
  const answer = await caller.open(body, { headers: { 'x-request-id': id } }).answer;
  const headMs = performance.now() - begun;
  expect(answer.status).toBe(200);
  return { answer, headMs };
}

/** Its text to the end. */
async function wholeOf({ answer }: Heard): Promise<string> {
  expect(await answer.ended).toBe('clean');
  return answer.text();
}

/** The rows of these requests, in this order. */
async function rowsOf(...ids: readonly string[]) {
  await weir.settled();
  const rows = await weir.ledger();
  return ids.flatMap((id) => rows.filter((row) => row['correlation_id'] === id));
}

/** The head comes with the first sign of life, a second after the request, and the engine has said nothing yet. */
async function expectKeptAlive({ answer, headMs }: Heard, life: RegExp, times: number): Promise<void> {
  await answer.until((text) => [...text.matchAll(life)].length >= times);
  expect(answer.text().replaceAll(life, '')).toBe('');
  expect(headMs).toBeGreaterThan(950);
}

// What waits, waits together.
test('a silent engine: a stream gets a chunk each second and then the whole answer, JSON gets white space before it', async () => {
  const release = engine.holdPauses();
  const clients = [
    weir
      .client()
      .chat.completions.stream({ ...question(slow), ...streamed })
      .finalChatCompletion(),
    weir.client().chat.completions.create(question(slow)),
  ];
  const [stream, json, quickStream, quickJson] = await Promise.all([
    listen({ ...question(slow), ...streamed }, 'slow-stream'),
    listen(question(slow), 'slow-json'),
    listen({ ...question({}), ...streamed }, 'quick-stream'),
    listen(question({}), 'quick-json'),
  ]);
  await Promise.all([expectKeptAlive(stream, sign, 3), expectKeptAlive(json, / /g, 3)]);
  release();

  const quickText = await wholeOf(quickStream);
  const whole = putTogether(quickText);
  const kept = putTogether(await wholeOf(stream));
  expect(kept.choices).toEqual(whole.choices);
  expect(kept.usage['completion_tokens']).toBe(whole.usage['completion_tokens']);

  expect(json.answer.headers['content-type']).toBe('application/json');
  const jsonText = await wholeOf(json);
  expect(jsonText).toMatch(/^ {3,}\{/);
  const quickJsonText = await wholeOf(quickJson);
  expect(quickJsonText).toMatch(quickJson.headMs < 950 ? /^\{/ : /^ *\{/);
  const parsed = JSON.parse(jsonText) as typeof kept;
  expect(parsed.choices).toEqual((JSON.parse(quickJsonText) as typeof kept).choices);

  for (const completion of await Promise.all(clients)) {
    expect(completion.choices[0]?.message.content).toBe(whole.choices[0]?.message.content);
    expect(completion.choices[0]?.finish_reason).toBe('stop');
    expect(completion.usage?.completion_tokens).toBe(whole.usage['completion_tokens']);
  }
  const billed = { outcome: 'completed', completion_tokens: whole.usage['completion_tokens'] };
  expect(await rowsOf('slow-stream', 'slow-json')).toEqual([
    expect.objectContaining(billed),
    expect.objectContaining(billed),
  ]);
});

// The fault comes when the caller has been kept alive once, before any output.
const failing = { ...slow, fault: 'cut', at: { events: 1 } } as const;

test('a failure after that is told in the words of an answer that has begun, and nothing is billed', async () => {
  const release = engine.holdPauses();
  const before = engine.openRequests();
  const clients = [
    weir
      .client()
      .chat.completions.stream({ ...question(failing), ...streamed })
      .finalChatCompletion()
      .catch((error: unknown) => error),
    weir.client().chat.completions.create(question(failing)),
  ];
  // They came first, so they are kept alive first.
  await engine.until(() => engine.openRequests() === before + clients.length);
  const [stream, json] = await Promise.all([
    listen({ ...question(failing), ...streamed }, 'failed-stream'),
    listen(question(failing), 'failed-json'),
  ]);
  release();

  const text = await wholeOf(stream);
  expect(text.search(sign)).toBe(0);
  const frames = text.trimEnd().split('\n\n');
  expect(frames.at(-1)).toBe('data: [DONE]');
  const terminal: unknown = JSON.parse((frames.at(-2) ?? '').slice('data: '.length));
  expect(terminal).toMatchObject({
    choices: [{ finish_reason: 'error' }],
    error: { code: 'stream_interrupted', type: 'service_error', message: expect.any(String) },
  });
  expect(text).not.toMatch(/"content":"[^"]/);
  const [streamError, jsonError] = await Promise.all(clients);
  expect(String(streamError)).toContain('interrupted');

  const jsonText = await wholeOf(json);
  expect(jsonText).toMatch(/^ +\{/);
  const envelope = { error: { code: 'upstream_incomplete', type: 'service_error', message: expect.any(String) } };
  expect(JSON.parse(jsonText)).toEqual(envelope);
  // The client takes a 200 for a success, which is why callers have to look at the code (docs/reference/api.md §7.3).
  expect(jsonError).toMatchObject(envelope);

  const free = { prompt_tokens: 0, completion_tokens: 0, attempts: 1 };
  const rows = await rowsOf('failed-stream', 'failed-json');
  expect(rows).toEqual([
    expect.objectContaining({ ...free, outcome: 'failed' }),
    expect.objectContaining({ ...free, outcome: 'incomplete' }),
  ]);
  expect(rows.map(({ cost }) => Number(cost))).toEqual([0, 0]);
});

test('a failure after that is not seen at all where another route can serve', async () => {
  const on = { on: 'alpha', ...failing };
  const release = engine.holdPauses();
  const [stream, json] = await Promise.all([
    listen({ ...question(on), ...streamed, model: 'test/two' }, 'moved-stream'),
    listen({ ...question(on), model: 'test/two' }, 'moved-json'),
  ]);
  release();
  const text = await wholeOf(stream);
  expect(text.search(sign)).toBe(0);
  const { choices } = putTogether(text);
  expect(choices[0]?.finish_reason).toBe('stop');
  const jsonText = await wholeOf(json);
  expect(jsonText).toMatch(/^ +\{/);
  expect((JSON.parse(jsonText) as { readonly choices: unknown }).choices).toEqual(choices);
  expect(spare.requests().length).toBe(2);
  const row = expect.objectContaining({ outcome: 'completed', attempts: 2 });
  expect(await rowsOf('moved-stream', 'moved-json')).toEqual([row, row]);
});
