// @suite alone
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ProgrammableEngine, startProgrammableEngine } from '../programmable-engine/engine.ts';
import { type Caller, http1Caller } from './support/caller.ts';
import { putTogether } from './support/put-together.ts';
import { allGone, processesOf } from '../support/start.ts';
import { stuckAfterMs } from '../support/stuck-after.ts';
import { startWeir, type Weir } from '../support/weir.ts';

let engine: ProgrammableEngine;
let weir: Weir;
let caller: Caller;

beforeEach(async () => {
  engine = await startProgrammableEngine({ name: 'alpha', behaviour: { reasoning: 'never' } });
  weir = await startWeir({ engines: [engine] });
  caller = http1Caller(weir);
});
afterEach(async () => {
  await caller.close();
  await weir.close();
  await engine.close();
});

const ask = (directives: object, stream = true) => ({
  ...{ model: 'test/model', stream, ...(stream ? { stream_options: { include_usage: true } } : {}) },
  messages: [{ role: 'user', content: `Go on. [[demo ${JSON.stringify(directives)}]]` }],
});
const long = ask({ words: 5000, tokenDelayMs: 20 });

interface Try {
  /** 0 when there was no answer. */
  readonly status: number;
  readonly body: string;
  readonly atMs: number;
}

/** Asks a short question over and over, each over a connection of its own, until one is answered after `since`. */
async function untilServed(since: number, tries: Try[] = []): Promise<readonly Try[]> {
  for (;;) {
    const outcome = await caller.ask(ask({ words: 3 }, false)).then(
      (answer) => ({ status: answer.status, body: answer.text() }),
      () => ({ status: 0, body: '' }),
    );
    const atMs = performance.now() - since;
    tries.push({ ...outcome, atMs });
    if (outcome.status === 200) return tries;
    // A caller that comes back at once, but not so often that it takes the machine from the one who starts.
    await pause(20);
    if (atMs > stuckAfterMs) throw new Error(`not served again: ${JSON.stringify(tries.at(-1))}`);
  }
}

/** Short requests on several lanes, each until one fails; `ids` of those whose answer came whole. */
function keepAsking(lanes: number): { readonly ids: readonly string[]; readonly ended: Promise<unknown> } {
  const ids: string[] = [];
  const lane = async (): Promise<void> => {
    for (;;) {
      const answer = await caller.ask(ask({ words: 3 }, false)).catch(() => undefined);
      if (answer?.status !== 200 || (await answer.ended) === 'cut') return;
      ids.push((JSON.parse(answer.text()) as { readonly id: string }).id);
    }
  };
  return { ids, ended: Promise.all(Array.from({ length: lanes }, lane)) };
}

test('kill -9 of the service: streams are cut, Envoy says 503 meanwhile, and every acknowledged row is there', async () => {
  const answer = await caller.open(long).answer;
  await answer.until('"content":"');
  const asking = keepAsking(4);
  await expect.poll(() => asking.ids.length).toBeGreaterThan(40);
  const killed = weir.pid('service');
  process.kill(killed, 'SIGKILL');
  const since = performance.now();
  const tries = await untilServed(since);
  expect(await answer.ended).toBe('cut');
  expect(answer.text()).not.toContain('[DONE]');
  await engine.until(() => engine.requests()[0]?.state === 'closed');
  const refused = tries.slice(0, -1);
  expect(refused.length).toBeGreaterThan(0);
  for (const { status, body } of refused) {
    expect(status).toBe(503);
    expect(JSON.parse(body)).toEqual({ error: { message: expect.any(String), type: 'service_error' } });
  }
  const servedAfterMs = tries.at(-1)?.atMs ?? Infinity;
  console.log(`service: ${refused.length} refusals, served again after ${Math.round(servedAfterMs)} ms`);
  expect(weir.pid('service')).not.toBe(killed);
  await asking.ended;
  await weir.settled();
  const rows = new Set((await weir.ledger()).map(({ id }) => id));
  expect(asking.ids.filter((id) => !rows.has(id))).toEqual([]);
});

test('kill -9 of Envoy: it is started again, and the service goes on with an account of what was cut', async () => {
  const service = weir.pid('service');
  const answer = await caller.open(long, { headers: { 'x-request-id': 'cut-with-envoy' } }).answer;
  await answer.until('"content":"');
  process.kill(weir.pid('envoy'), 'SIGKILL');
  const tries = await untilServed(performance.now());
  expect(await answer.ended).toBe('cut');
  expect(answer.text()).not.toContain('[DONE]');
  // A connection that nobody accepts, or one that Envoy took just before it had its clusters.
  expect(tries.slice(0, -1).filter(({ status }) => ![0, 502, 503].includes(status))).toEqual([]);
  const servedAfterMs = tries.at(-1)?.atMs ?? Infinity;
  console.log(`Envoy: served again after ${Math.round(servedAfterMs)} ms`);
  expect(weir.pid('service')).toBe(service);
  await weir.settled();
  await engine.until(() => engine.openRequests() === 0);
  const row = (await weir.ledger()).find(({ correlation_id: id }) => id === 'cut-with-envoy');
  expect(row).toMatchObject({ outcome: 'service-lost', prompt_tokens: 0 });
  expect(row?.['completion_tokens']).toBeGreaterThan(0);
});

test('SIGTERM: open streams finish, new callers are refused, and nothing is left', async () => {
  const open = Array.from({ length: 5 }, () => caller.open(ask({ words: 40, tokenDelayMs: 50 })));
  const answers = await Promise.all(open.map((request) => request.answer));
  await Promise.all(answers.map((answer) => answer.until('"content":"')));
  const processes = processesOf(weir.data);
  expect(Object.keys(processes).length).toBeGreaterThanOrEqual(3);
  const closing = weir.close();
  const refusals: number[] = [];
  for (;;) {
    const status = await caller.ask(ask({ words: 3 }, false)).then(
      (answer) => answer.status,
      () => 0,
    );
    if (status !== 200) refusals.push(status);
    if (refusals.length === 20) break;
  }
  expect(refusals.filter((status) => status !== 0 && status !== 503)).toEqual([]);
  const ends = await Promise.all(answers.map(({ ended }) => ended));
  expect(ends).toEqual(answers.map(() => 'clean'));
  for (const answer of answers) expect(putTogether(answer.text()).usage).toHaveProperty('cost');
  await closing;
  await allGone(processes, 0);
});
