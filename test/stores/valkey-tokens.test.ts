import { afterEach, describe, expect, it } from 'vitest';
import { rateAsk } from '../support/bucket-law.ts';
import { forFile } from '../support/for-file.ts';
import { startValkey } from '../support/valkey.ts';
import { type Replica, startReplica } from './support/replica.ts';
import type { LimitsAsk, Slot, TokenLimit } from '../../src/core/limits.ts';

let replicas: Replica[] = [];
let asks = 0;

const valkey = await forFile(startValkey());
afterEach(async () => {
  await Promise.all(replicas.map(({ limits }) => limits.link.close()));
  replicas = [];
});

/** Replicas that wait for the server as long as it takes, so that each decision is the server's. */
async function start(count: number): Promise<readonly Replica[]> {
  replicas = Array.from({ length: count }, () => startReplica(valkey.url, { timeoutMs: 30_000 }));
  await Promise.all(replicas.map(({ up }) => up()));
  return replicas;
}

/** A key and a workspace that no other test has used. */
function askOf(limits: readonly Pick<TokenLimit, 'by' | 'perMinute'>[]): LimitsAsk {
  asks += 1;
  const [keyId, workspaceId] = [`key-of-tokens-${asks}`, `ws-of-tokens-${asks}`];
  const ids = {
    tokens: `key:${keyId}`,
    'workspace-tokens': `ws:${workspaceId}`,
    'tag-tokens': `tag:${workspaceId}:a=1`,
  };
  const tokens = limits.map((limit) => ({ ...limit, id: ids[limit.by] }));
  return rateAsk({ ...{ keyId, workspaceId, rate: 1e6, burst: 1e6 }, tokens });
}

async function dispatch(replica: Replica, ask: LimitsAsk, tokens: number): Promise<Slot | string> {
  const result = await replica.admit(ask);
  if (result.kind === 'refused') return result.by;
  const short = await result.slot.reserve(0n, ask.funds, { tokens });
  if (short === undefined) return result.slot;
  await result.slot.release();
  return short;
}

describe('tokens a minute at a real server', () => {
  it.each([1, 3])('let 64 at once pass on %i replicas until nothing is left', async (count) => {
    const all = await start(count);
    const ask = askOf([{ by: 'tokens', perMinute: 600 }]);
    // Of 600 tokens, 10 come back each second. An answer takes 200, so a test of a few seconds never finds a fourth one.
    const results = await Promise.all(
      Array.from({ length: 64 }, async (_, index) => dispatch(all[index % count]!, ask, 200)),
    );
    const slots = results.filter((result) => typeof result !== 'string');
    expect(slots.length).toBeGreaterThanOrEqual(3);
    expect(slots.length).toBeLessThanOrEqual(4);
    expect(new Set(results.filter((result) => typeof result === 'string'))).toEqual(new Set(['tokens']));
    // They used nothing: all replicas know it when the slots are free.
    for (const slot of slots) await slot.release();
    const next = await dispatch(all.at(-1)!, ask, 1);
    if (typeof next === 'string') throw new Error(`refused by ${next}`);
    expect(next.tokens?.()?.remaining).toBeGreaterThanOrEqual(598);
    await next.release();
  });

  it.each([
    ['tokens', 'workspace-tokens', 'tokens'],
    ['workspace-tokens', 'tokens', 'tokens'],
    ['tag-tokens', 'tokens', 'tag-tokens'],
    ['workspace-tokens', 'tag-tokens', 'workspace-tokens'],
  ] as const)('of %s and %s, the one that is used up refuses', async (one, other, refusing) => {
    const [replica] = await start(1);
    const limits = [one, other].map((by) => ({ by, perMinute: by === refusing ? 60 : 6_000_000 }));
    const ask = askOf(limits);
    const first = await dispatch(replica!, ask, 1_000);
    expect(typeof first).toBe('object');
    expect(await dispatch(replica!, ask, 1)).toBe(refusing);
    const refused = await replica!.admit(ask);
    expect(refused).toMatchObject({ kind: 'refused', tokens: { limit: 60, remaining: 0 } });
  });

  it('are counted as they were used, and a full bucket is forgotten', async () => {
    const [one, two] = await start(2);
    const ask = askOf([{ by: 'tokens', perMinute: 60_000 }]);
    const slot = await dispatch(one!, ask, 50_000);
    if (typeof slot === 'string') throw new Error(`refused by ${slot}`);
    slot.adjust(0n, { tokens: 70_000 });
    await expect.poll(() => two!.result(ask)).toBe('tokens');
    await slot.release(undefined, { tokens: 5 });
    await expect.poll(() => two!.result(ask)).toBe('admitted');
    await valkey.ask(async (client) => {
      await expect.poll(() => client.exists(`weir:tok:key:${ask.keyId}`)).toBe(0);
    });
  });
});
