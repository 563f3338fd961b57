import { beforeEach, expect, test } from 'vitest';
import { startProgrammableEngine } from '../programmable-engine/engine.ts';
import { type Caller, http1Caller, http2Caller, type OpenAnswer } from './support/caller.ts';
import { costOf, picoUsd } from './support/cost.ts';
import { runWeir } from '../support/run-weir.ts';
import { startWeir } from '../support/weir.ts';
import { forFile } from '../support/for-file.ts';

const engine = await forFile(startProgrammableEngine({ name: 'alpha', behaviour: { reasoning: 'never' } }));
const weir = await forFile(startWeir({ engines: [engine] }));
beforeEach(() => engine.reset());

const prices = { prompt: 150_000n, cached: 30_000n, completion: 600_000n };
const ask = (directives: object, fields: object = {}) => ({
  ...{ model: 'test/model', stream: true, ...fields },
  messages: [{ role: 'user', content: `Tell me. [[demo ${JSON.stringify(directives)}]]` }],
});
/** Slow enough that no more than one token is on its way at any moment, on a busy machine too. */
const long = { words: 5000, tokenDelayMs: 250 };
const deltasIn = (text: string): number => text.match(/"delta":\{"content":"[^"]/g)?.length ?? 0;

test.each(['SIGKILL', 'SIGTERM'] as const)('an Envoy that dies of %s is no caller who left', async (signal) => {
  const open = async (caller: Caller, id: string, body: object) => {
    const request = caller.open(body, { headers: { 'x-request-id': `${signal}-${id}` } });
    request.answer.catch(() => undefined);
    return request;
  };
  const callers: readonly Caller[] = [http1Caller(weir), http2Caller(weir)];
  const answers = new Map<string, OpenAnswer>();
  for (const [at, caller] of callers.entries()) {
    for (const choice of [1, 2]) {
      const answer = await (await open(caller, `stream-${at}-${choice}`, ask(long))).answer;
      answers.set(`${signal}-stream-${at}-${choice}`, answer);
      await answer.until((text) => deltasIn(text) >= 3);
    }
    await open(caller, `whole-${at}`, ask({ words: 5000, tokenDelayMs: 1000 }, { stream: false }));
  }
  await engine.until(() => engine.openRequests() === 6);
  // Somebody leaves in truth, beside all that.
  const [caller] = callers;
  if (caller === undefined) return;
  const leaving = await open(caller, 'leaves', ask(long));
  await (await leaving.answer).until((text) => deltasIn(text) >= 2);
  leaving.leave();
  await expect.poll(() => weir.metric('weir_requests_in_flight')).toBe(6);

  const killed = weir.pid('envoy');
  process.kill(killed, signal);
  for (const answer of answers.values()) expect(await answer.ended).toBe('cut');
  await weir.settled();
  const rows = (await weir.ledger()).filter((row) => String(row['correlation_id']).startsWith(signal));
  expect(rows).toHaveLength(7);
  for (const row of rows) {
    const id = String(row['correlation_id']);
    expect(picoUsd(row['cost'])).toBe(costOf(row, prices));
    if (id.endsWith('leaves')) {
      expect(row).toMatchObject({ outcome: 'cancelled' });
      expect(row['prompt_tokens']).toBeGreaterThan(0);
      continue;
    }
    expect(row, id).toMatchObject({ outcome: 'service-lost', prompt_tokens: 0 });
    const answer = answers.get(id);
    const received = answer === undefined ? 0 : deltasIn(answer.text());
    // One may have been on its way.
    expect(row['completion_tokens'], id).toBeLessThanOrEqual(received + (answer === undefined ? 0 : 1));
    expect(row['completion_tokens'], id).toBeGreaterThanOrEqual(received);
  }
  const { code } = await runWeir(['ledger', 'verify', '--data', weir.data]);
  expect(code).toBe(0);
  for (const each of callers) await each.close();
  const again = http1Caller(weir);
  await expect.poll(async () => (await again.ask(ask({ words: 3 })).catch(() => undefined))?.status).toBe(200);
  await again.close();
});
