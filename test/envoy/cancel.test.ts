// @suite long
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startProgrammableEngine } from '../programmable-engine/engine.ts';
import { type Caller, http1Caller, http2Caller } from './support/caller.ts';
import { costOf, picoUsd } from './support/cost.ts';
import { putTogether } from './support/put-together.ts';
import { backendManifest, type LedgerRow, modelManifest, startWeir } from '../support/weir.ts';
import { forFile } from '../support/for-file.ts';

const engine = await forFile(startProgrammableEngine({ name: 'alpha', behaviour: { reasoning: 'never' } }));
const backends = backendManifest('counting', engine) + backendManifest('counting-at-the-end', engine, 'llamacpp');
const models =
  modelManifest('test/model', ['counting']) +
  modelManifest('test/late', ['counting-at-the-end']) +
  modelManifest('test/seeing', ['counting-at-the-end'], '  inputModalities: [text, image]');
const weir = await forFile(startWeir({ manifests: { 'catalog.yaml': backends + models } }));
// An engine that has answered is believed to be at work when it is silent; one that never did is not (unheard.test.ts).
for (const model of ['test/model', 'test/late', 'test/seeing'])
  await (await weir.chat(ask({ words: 1 }, { model }))).text();
beforeEach(() => engine.reset());

const prices = { prompt: 150_000n, cached: 30_000n, completion: 600_000n };

function ask(directives: object, fields: object = {}) {
  const content = `Tell me. [[demo ${JSON.stringify(directives)}]]`;
  return { model: 'test/model', stream: true, messages: [{ role: 'user', content }], ...fields };
}
const silent = 'Tell me. [[demo {"firstTokenDelayMs":600000}]]';
const withUsage = { stream_options: { include_usage: true } };

/** Runs what a caller does until it has left, and gives the rows of the ledger that came of it. */
async function rowsOf(name: string, run: (headers: Readonly<Record<string, string>>) => Promise<void>) {
  const id = name.replaceAll(/\W+/g, '-');
  await run({ 'x-request-id': id });
  await weir.settled();
  return (await weir.ledger()).filter((row) => row['correlation_id'] === id);
}

/** Resolves to the time that it took, milliseconds. */
async function untilLeftUpstream(): Promise<number> {
  const leftMs = performance.now();
  await engine.until(() => engine.openRequests() === 0);
  expect(engine.requests().at(-1)?.aborted).toBe(true);
  return performance.now() - leftMs;
}

/** The prompt and nothing more is billed: nothing was delivered. */
function expectPromptOnly(rows: readonly LedgerRow[]): void {
  expect(rows).toEqual([expect.objectContaining({ outcome: 'cancelled', completion_tokens: 0, attempts: 1 })]);
  const [row = {}] = rows;
  expect(row['prompt_tokens']).toBeGreaterThan(0);
  expect(picoUsd(row['cost'])).toBe(costOf(row, prices));
}

/** The text that the whole frames of a stream carry. */
const saidIn = (text: string): string =>
  [...text.matchAll(/"delta":\{"content":("(?:[^"\\]|\\.)*")/g)]
    .map(([, json = '""']) => JSON.parse(json) as string)
    .join('');
const deltasIn = (text: string): number => text.match(/"delta":\{"content":"[^"]/g)?.length ?? 0;

describe.each([
  ['HTTP/1.1', http1Caller],
  ['HTTP/2', http2Caller],
] as const)('a caller over %s who leaves', (protocol, connectTo) => {
  let caller: Caller;
  beforeAll(() => {
    caller = connectTo(weir);
  });
  afterAll(async () => caller.close());

  const silences = {
    'before the engine has answered': ask({ fault: 'stall', at: 'before-headers' }),
    'before the first token': ask({ firstTokenDelayMs: 600_000 }),
    'during the wait for an answer in one piece': ask({ words: 5000, tokenDelayMs: 1000 }, { stream: false }),
  };
  test.each(Object.entries(silences))('%s pays the prompt, and the engine is let go', async (when, body) => {
    const rows = await rowsOf(`${protocol} ${when}`, async (headers) => {
      const request = caller.open(body, { headers });
      await engine.until(() => engine.openRequests() === 1);
      request.leave();
      await untilLeftUpstream();
    });
    expectPromptOnly(rows);
  });

  const bulk = 'A1b2'.repeat(7_500_000);
  const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${bulk}` } };
  test.each([
    ['an ignored field', { model: 'test/late', metadata: { bulk } }],
    [
      'an image',
      { model: 'test/seeing', messages: [{ role: 'user', content: [{ type: 'text', text: silent }, image] }] },
    ],
  ])('with 30 MB of %s beside a few words pays for the words', async (what, fields) => {
    const rows = await rowsOf(`${protocol}-${what}`, async (headers) => {
      const body = ask({ firstTokenDelayMs: 600_000 }, fields);
      const request = caller.open(body, { headers });
      await engine.until(() => engine.openRequests() === 1);
      request.leave();
      await untilLeftUpstream();
    });
    expectPromptOnly(rows);
    // A quarter of all bytes would be $1.125.
    expect(rows[0]?.['prompt_tokens']).toBeLessThan(50);
  });

  test.each([
    ['test/model', false],
    ['test/late', true],
  ])('in mid-stream of %s pays what was delivered (an estimate: %s)', async (model, estimated) => {
    let delivered = 0;
    let wayMs = 0;
    const rows = await rowsOf(`${protocol}-${model}`, async (headers) => {
      const request = caller.open(ask({ words: 5000, tokenDelayMs: 20 }, { model }), { headers });
      const answer = await request.answer;
      await answer.until((text) => deltasIn(text) >= 5);
      request.leave();
      wayMs = await untilLeftUpstream();
      delivered = deltasIn(answer.text());
    });
    expect(rows).toEqual([expect.objectContaining({ outcome: 'cancelled', estimated, attempts: 1 })]);
    const [row = {}] = rows;
    expect(row['completion_tokens']).toBeGreaterThanOrEqual(delivered);
    // What was on its way when the caller left, and what the engine wrote until it was let go, at 50 tokens a second.
    expect(row['completion_tokens']).toBeLessThan(delivered + 50 + wayMs / 20);
    expect(picoUsd(row['cost'])).toBe(costOf(row, prices));
  });

  test('after the last token, before the usage, pays all of it', async () => {
    const whole = putTogether((await caller.ask(ask({ words: 3 }, withUsage))).text());
    const text = whole.choices[0]?.message.content ?? '';
    const rows = await rowsOf(`${protocol}-last-token`, async (headers) => {
      const request = caller.open(ask({ words: 3, tokenDelayMs: 300 }, withUsage), { headers });
      const answer = await request.answer;
      await answer.until((sent) => saidIn(sent) === text);
      request.leave();
      await engine.until(() => engine.openRequests() === 0);
    });
    expect(rows).toEqual([
      expect.objectContaining({
        outcome: 'cancelled',
        prompt_tokens: whole.usage['prompt_tokens'],
        completion_tokens: whole.usage['completion_tokens'],
      }),
    ]);
    expect(picoUsd(rows[0]?.['cost'])).toBe(costOf(rows[0] ?? {}, prices));
  });

  test.each([
    ['the usage chunk', '"choices":[],"usage":{', withUsage],
    ['[DONE]', '[DONE]', withUsage],
    ['[DONE] without usage', '[DONE]', {}],
  ])('at %s has a complete row', async (what, part, fields) => {
    const rows = await rowsOf(`${protocol}-${what}`, async (headers) => {
      const request = caller.open(ask({ words: 20, cachedTokens: 2 }, fields), { headers });
      const answer = await request.answer;
      await answer.until(part);
      request.leave();
      await answer.ended;
    });
    const whole = putTogether((await caller.ask(ask({ words: 20, cachedTokens: 2 }, withUsage))).text());
    const { prompt_tokens, completion_tokens, cost } = whole.usage;
    expect(rows).toEqual([
      expect.objectContaining({
        outcome: 'completed',
        prompt_tokens,
        completion_tokens,
        cached_tokens: 2,
        estimated: false,
      }),
    ]);
    expect(picoUsd(rows[0]?.['cost'])).toBe(costOf(rows[0] ?? {}, prices));
    expect(Number(rows[0]?.['cost'])).toBe(cost);
  });

  test('while it uploads is forgotten: no engine heard of it and nothing is billed', async () => {
    await weir.settled();
    const refusals = await weir.metric('weir_requests_total', { outcome: 'refused' });
    const rows = await rowsOf(`${protocol}-upload`, async (headers) => {
      const body = JSON.stringify(ask({ words: 3 }));
      const request = caller.open(body.slice(0, -5), { headers, more: true });
      await expect.poll(() => weir.metric('weir_requests_in_flight')).toBe(1);
      request.leave();
      await expect.poll(() => weir.metric('weir_ext_proc_streams')).toBe(0);
    });
    expect(rows).toEqual([]);
    expect(engine.requests()).toEqual([]);
    // Nobody failed.
    expect(await weir.metric('weir_requests_total', { outcome: 'refused' })).toBe(refusals);
  });
});
