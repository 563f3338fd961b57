// @suite both-databases
import { describe, expect, it, onTestFinished } from 'vitest';
import { sampleAuthor, sampleDatabase, sampleNow } from '../../../test/support/sample-database.ts';
import { sampleOutcome } from '../../../test/support/sample-outcome.ts';
import { openDatabase } from '../databases/open-database.ts';
import { claimAlert, countWaiting, finishAlert } from './alert-deliveries.ts';
import { listAlerts, recordReached } from './alerts.ts';
import { changeKey } from './change-keys.ts';

const dayMs = 86_400_000;

describe('a message', () => {
  async function waiting() {
    const { queries, location, ids, key, settle } = await sampleDatabase('10');
    await changeKey(queries, key.id, { budget: { limit: 4n, period: 'day' } }, sampleAuthor);
    await settle([sampleOutcome({ ...ids, cost: 2n, startedAt: sampleNow })]);
    await recordReached(queries, { deliver: true }, sampleNow);
    const state = async () => (await listAlerts(queries, ids.workspaceId, 9)).map(({ delivery }) => delivery);
    const other = await openDatabase(location, { missing: 'refuse', user: 'operator' });
    onTestFinished(() => other.close());
    return { queries, other: other.queries, state };
  }
  const lease = { leaseMs: 60_000 };

  it('is claimed by one process at a time, and again with the same id after the lease', async () => {
    const { queries, other } = await waiting();
    const claims = await Promise.all(
      [queries, other, queries, other].map((each) => claimAlert(each, lease, sampleNow)),
    );
    const [first, ...more] = claims.filter((claim) => claim !== undefined);
    expect([first?.tries, more]).toEqual([1, []]);
    expect(await claimAlert(other, lease, sampleNow + 59_999)).toBeUndefined();
    expect(await claimAlert(other, lease, sampleNow + 60_000)).toEqual({ ...first, tries: 2 });
  });

  it('is tried for a day, with growing pauses, and then given up', async () => {
    const { queries, state } = await waiting();
    const at: number[] = [];
    const results: string[] = [];
    const counts: number[] = [];
    const dueAt = async () =>
      Number((await queries.selectFrom('alerts').select('next_try_at').executeTakeFirstOrThrow()).next_try_at);
    for (let now = sampleNow; ; now = await dueAt()) {
      const claim = await claimAlert(queries, lease, now);
      if (claim === undefined) break;
      at.push((now - sampleNow) / 1000);
      results.push(
        await finishAlert(queries, { id: claim.id, tries: claim.tries, problem: 'the receiver answered 500' }, now),
      );
      counts.push(await countWaiting(queries));
    }
    expect(at.slice(0, 6)).toEqual([0, 5, 15, 35, 75, 155]);
    expect(at.at(-1)).toBeGreaterThan(23 * 3600);
    expect(at.at(-1)).toBeLessThanOrEqual(24 * 3600);
    expect(await state()).toEqual(['failed']);
    expect([results.at(-1), counts.at(-1)]).toEqual(['failed', 0]);
    expect(new Set(results.slice(0, -1))).toEqual(new Set(['waiting']));
    expect(new Set(counts.slice(0, -1))).toEqual(new Set([1]));
  });

  it('stays delivered when a process whose lease was over reports a failure', async () => {
    const { queries, other, state } = await waiting();
    const slow = await claimAlert(queries, lease, sampleNow);
    const second = await claimAlert(other, lease, sampleNow + 60_000);
    if (slow === undefined || second === undefined) throw new Error('nothing was claimed');
    await finishAlert(other, { ...second, problem: undefined }, sampleNow + 61_000);
    await finishAlert(queries, { ...slow, problem: 'no answer within 15 s' }, sampleNow + 62_000);
    expect(await state()).toEqual(['delivered']);
    expect(await claimAlert(queries, lease, sampleNow + dayMs)).toBeUndefined();
  });

  it.each([
    ['a minute', 60_000],
    ['an hour', 3_600_000],
    ['a month', 31 * dayMs],
  ])('is sent in time when the clock was %s ahead while it was recorded, claimed or tried', async (_, aheadMs) => {
    const { queries, other, state } = await waiting();
    const claimedAhead = await claimAlert(queries, lease, sampleNow + aheadMs);
    if (claimedAhead === undefined) throw new Error('nothing was claimed');
    const again = async (now: number) => (await claimAlert(other, lease, now))?.tries;
    // Its process has died with the lease.
    expect([await again(sampleNow + 1), await again(sampleNow + 3_720_000)]).toContain(2);
    expect(await state()).toEqual(['waiting']);
  });

  it('is tried as often when the clock jumps a month ahead after its first failure', async () => {
    const { queries, state } = await waiting();
    const fail = async (now: number) => {
      const claim = await claimAlert(queries, lease, now);
      if (claim === undefined) throw new Error('nothing was claimed');
      return finishAlert(queries, { ...claim, problem: 'the receiver answered 500' }, now);
    };
    expect([await fail(sampleNow), await fail(sampleNow + 31 * dayMs)]).toEqual(['waiting', 'waiting']);
    // Twin of the lasting failure: a clock that stands still gives up after as many tries.
    let tries = 3;
    for (let now = sampleNow; (await fail(now)) === 'waiting'; now += 1_800_000) tries += 1;
    expect([tries, await state()]).toEqual([56, ['failed']]);
  });
});
