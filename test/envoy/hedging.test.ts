// @suite alone
import { beforeEach, expect, test } from 'vitest';
import { type ProgrammableEngine, startProgrammableEngine } from '../programmable-engine/engine.ts';
import { http1Caller, type OpenAnswer } from './support/caller.ts';
import { costOf, picoUsd } from './support/cost.ts';
import { putTogether } from './support/put-together.ts';
import { backendManifest, modelManifest, startWeir } from '../support/weir.ts';
import { forFile } from '../support/for-file.ts';

const models = ['cold', 'late', 'silent', 'messages', 'learned', 'unknown', 'off'] as const;
/** What a stream waits for where nothing is known of its route (docs/concepts/failover.md). */
const coldMs = 1000;
/** An engine that does not answer while a test waits. */
const never = { firstTokenDelayMs: 600_000 };

const slow = await forFile(startProgrammableEngine({ name: 'slow', behaviour: { reasoning: 'never' } }));
const quick = await forFile(startProgrammableEngine({ name: 'quick', behaviour: { reasoning: 'never' } }));
const off = '  hedging: {mode: Disabled}';
const manifests = [
  ...[backendManifest('slow', slow), backendManifest('quick', quick)],
  // The slow one is always the first to be asked.
  ...models.map((name) =>
    modelManifest(`test/${name}`, ['slow', 'quick'], name === 'off' ? off : '').replace(
      'weight: 1000',
      'weight: 1000000',
    ),
  ),
];
const weir = await forFile(startWeir({ engines: [slow, quick], manifests: { 'catalog.yaml': manifests.join('') } }));
const caller = await forFile(http1Caller(weir));
beforeEach(() => {
  for (const engine of [slow, quick]) engine.reset();
});

type Usage = Readonly<Record<string, unknown>>;

interface Timed {
  readonly answer: OpenAnswer;
  /** To the first byte of the body, and when that was. */
  readonly firstMs: number;
  readonly firstAt: number;
}

async function ask(model: (typeof models)[number], fields: object = {}): Promise<Timed> {
  const id = `${model}-${JSON.stringify(fields).replaceAll(/\W+/g, '-')}`;
  const begun = performance.now();
  const messages = [{ role: 'user', content: `Who is first, ${model}? [[words=12]]` }];
  const body = { model: `test/${model}`, messages, ...fields };
  const answer = await caller.open(body, { headers: { 'x-request-id': id } }).answer;
  await answer.until((text) => text !== '');
  const firstAt = performance.now();
  expect([answer.status, await answer.ended]).toEqual([200, 'clean']);
  return { answer, firstMs: firstAt - begun, firstAt };
}

const streamed = { stream: true, stream_options: { include_usage: true } };
/** Tells by the bill whose answer it was: that engine says so many of the prompt's tokens were cached. */
const quickCached = 3;
const prices = { prompt: 150_000n, cached: 30_000n, completion: 600_000n };

/** That the model's latest row is the bill of this answer, and that there is one row for each request. */
async function expectBilledOnce(
  model: (typeof models)[number],
  { usage, attempts, requests = 1 }: { readonly usage: Usage; readonly attempts: number; readonly requests?: number },
) {
  await weir.settled();
  const rows = (await weir.ledger()).filter((one) => one['model'] === `test/${model}`);
  expect(rows.length).toBe(requests);
  const [row = {}] = rows;
  const { prompt_tokens, completion_tokens } = usage;
  expect(row).toMatchObject({ outcome: 'completed', attempts, prompt_tokens, completion_tokens, estimated: false });
  expect(picoUsd(row['cost'])).toBe(costOf(row, prices));
  expect(Number(row['cost'])).toBe(usage['cost']);
  return row;
}

/** The call that was given up: its connection is closed, though its engine would go on. */
async function expectLetGo(engine: ProgrammableEngine, { firstAt }: Timed, calls = 1): Promise<void> {
  await engine.until(() => engine.openRequests() === 0);
  const [lost] = engine.requests();
  const letGo: unknown = expect.objectContaining({ aborted: true, state: 'closed' });
  expect(engine.requests()).toEqual(Array.from({ length: calls }, () => letGo));
  const afterMs = (lost?.endedAt ?? Number.NaN) - firstAt;
  console.log(`the loser's connection was closed ${Math.round(afterMs)} ms after the winner's first byte`);
  await expect.poll(() => weir.activeUpstream()).toEqual([]);
}

test('a stream whose engine is slow comes from another one after the delay; the loser is let go, one answer is billed', async () => {
  slow.set(never);
  quick.set({ cachedTokens: quickCached });
  const timed = await ask('cold', streamed);
  expect(timed.firstMs).toBeGreaterThan(coldMs - 50);
  const [first = Number.NaN, second] = [slow, quick].map((engine) => engine.requests()[0]?.receivedAt);
  expect(second).toBeGreaterThan(first);
  await expectLetGo(slow, timed);
  const { usage, choices } = putTogether(timed.answer.text());
  expect(choices[0]?.finish_reason).toBe('stop');
  expect(await expectBilledOnce('cold', { usage, attempts: 2 })).toMatchObject({ cached_tokens: quickCached });
});

test('a first engine that is faster after all wins: the second attempt is let go and costs nothing', async () => {
  slow.set({ firstTokenDelayMs: 1 });
  quick.set({ ...never, cachedTokens: quickCached });
  const release = slow.holdPauses();
  const asked = ask('late', streamed);
  await quick.until(() => quick.openRequests() === 1);
  release();
  const timed = await asked;
  await expectLetGo(quick, timed);
  const { usage } = putTogether(timed.answer.text());
  expect(await expectBilledOnce('late', { usage, attempts: 2 })).toMatchObject({ cached_tokens: 0 });
});

test('an engine that does not even send headers loses in the same way', async () => {
  slow.set({ fault: 'stall', at: 'before-headers' });
  const timed = await ask('silent', streamed);
  await expectLetGo(slow, timed);
  await expectBilledOnce('silent', { ...putTogether(timed.answer.text()), attempts: 2 });
});

test('on the messages surface a hedged answer is one message, with one bill', async () => {
  slow.set(never);
  quick.set({ cachedTokens: quickCached });
  // Its stream is checked, event by event, as every stream of that surface is in these tests.
  const stream = weir.messagesClient().messages.stream({
    ...{ model: 'test/messages', max_tokens: 100 },
    messages: [{ role: 'user', content: 'Who is first? [[words=12]]' }],
  });
  // The client's own sum of the stream leaves out what it has no type for.
  let cost: unknown = undefined;
  stream.on('streamEvent', (event) => {
    if (event.type === 'message_delta') ({ cost } = event.usage as { readonly cost?: unknown });
  });
  const message = await stream.finalMessage();
  expect(message.stop_reason).toBe('end_turn');
  expect(message.content.at(-1)?.type).toBe('text');
  const { input_tokens, output_tokens, cache_read_input_tokens } = message.usage;
  expect(cache_read_input_tokens).toBe(quickCached);
  await slow.until(() => slow.openRequests() === 0);
  const counted = { prompt_tokens: input_tokens + quickCached, completion_tokens: output_tokens };
  expect(await expectBilledOnce('messages', { usage: { ...counted, cost }, attempts: 2 })).toMatchObject({
    surface: 'messages',
  });
});

test('once it is known what a route takes, the delay is that, for answers in one piece too', async () => {
  for (let known = 0; known < 25; known += 1) await ask('learned');
  expect([slow.requests().length, quick.requests().length]).toEqual([25, 0]);
  slow.reset();
  slow.set(never);
  quick.set({ cachedTokens: quickCached });
  // Asked first, it is hedged last: nothing is known of its route.
  const unknown = ask('unknown', streamed);
  await slow.until(() => slow.openRequests() === 1);
  const timed = await ask('learned');
  await unknown;
  const hedged = quick.requests().map(({ body }) => /Who is first, (\w+)/.exec(JSON.stringify(body))?.[1]);
  expect(hedged).toEqual(['learned', 'unknown']);
  await expectLetGo(slow, timed, 2);
  const { usage } = JSON.parse(timed.answer.text()) as { readonly usage: Usage };
  expect(await expectBilledOnce('learned', { usage, attempts: 2, requests: 26 })).toMatchObject({
    cached_tokens: quickCached,
  });
});

test('a model whose hedging is off makes no second attempt, however long it takes', async () => {
  slow.set({ firstTokenDelayMs: 2 * coldMs });
  const { firstMs, answer } = await ask('off', streamed);
  expect(firstMs).toBeGreaterThan(2 * coldMs - 50);
  expect(quick.requests()).toEqual([]);
  await expectBilledOnce('off', { ...putTogether(answer.text()), attempts: 1 });
});
