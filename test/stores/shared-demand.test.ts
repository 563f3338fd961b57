import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import type { BackendDemand } from '../../src/gateway/core/backend-demand.ts';
import { systemClock } from '../../src/process/clock.ts';
import { type SharedDemand, shareDemand } from '../../src/gateway/rate-limits/shared-demand.ts';
import { sampleDemand } from '../support/sample-demand.ts';
import { startValkey } from '../support/valkey.ts';
import { type Replica, startReplica } from './support/replica.ts';
import { forFile } from '../support/for-file.ts';

let open: { readonly limits: Replica; readonly shared: SharedDemand }[] = [];

const valkey = await forFile(startValkey());
afterEach(async () => {
  for (const replica of open) replica.shared.close();
  await Promise.all(open.map(({ limits: { limits } }) => limits.link.close()));
  open = [];
  await valkey.ask((client) => client.flushall());
});

/** The demand of one replica, as `weir serve` shares it. */
function startDemand(...demands: readonly BackendDemand[]): SharedDemand {
  const limits = startReplica(valkey.url);
  const shared = shareDemand({
    ...{ link: limits.limits.common, clock: systemClock, newId: randomUUID, read: () => demands },
  });
  open.push({ limits, shared });
  return shared;
}

const active = (backend: string, work = 5000): BackendDemand =>
  sampleDemand({ backend, work_tokens: work, quiet_ms: 0 });

describe('the demand of several replicas', () => {
  it('is known on each of them, without the Backends that have no requests', async () => {
    const first = startDemand(active('a'), sampleDemand({ backend: 'b', quiet_ms: 60_000 }));
    const second = startDemand(active('a', 700), active('b', 800));
    expect(first.of('a')).toBeUndefined();
    await expect.poll(() => first.of('a')).toEqual({ demands: [active('a', 700)], reporting: 1 });
    await expect.poll(() => second.of('a')).toEqual({ demands: [active('a')], reporting: 1 });
    expect(second.of('b')).toEqual({ demands: [], reporting: 1 });
  });

  it('is forgotten with a replica that dies', async () => {
    const [first, second] = [startDemand(active('a')), startDemand(active('a'))];
    await expect.poll(() => first.of('a')?.reporting).toBe(1);
    second.close();
    await expect.poll(() => first.of('a')).toEqual({ demands: [], reporting: 0 });
  });

  it('is unknown while Valkey is down, and known again when it is back', async () => {
    const [first] = [startDemand(), startDemand(active('a'))];
    await expect.poll(() => first.of('a')?.reporting).toBe(1);
    await valkey.kill();
    await expect.poll(() => first.of('a')).toBeUndefined();
    await valkey.start();
    await expect.poll(() => first.of('a')?.reporting).toBe(1);
  });

  it('is bounded: a replica with more Backends is no report for those that are left out', async () => {
    const first = startDemand();
    startDemand(...Array.from({ length: 1001 }, (_, index) => active(`backend-${index}`)));
    await expect.poll(() => first.of('backend-999')?.reporting).toBe(1);
    expect(first.of('backend-1000')).toEqual({ demands: [], reporting: 0 });
  });

  it('has no reports of other versions', async () => {
    const [first] = [startDemand(), startDemand(active('a'))];
    await valkey.ask((client) => client.hset('weir:backend-demand', 'x', 'no time', 'y', '9 {}'));
    await expect.poll(() => first.of('a')?.reporting).toBe(1);
    await expect.poll(() => valkey.ask((client) => client.hlen('weir:backend-demand'))).toBe(2);
    expect(await valkey.ask((client) => client.pttl('weir:backend-demand'))).toBeGreaterThan(0);
  });
});
