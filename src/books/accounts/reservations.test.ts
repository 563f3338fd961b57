// @suite both-databases
import { describe, expect, it } from 'vitest';
import { sampleAuthor, sampleDatabase, sampleNow } from '../../../test/support/sample-database.ts';
import { createReservationReport } from './reservation-report.ts';
import { forgetGone, reservedFor, writeReservations } from './reservations.ts';
import { createWorkspace } from './workspaces.ts';

describe('a report of reservations', () => {
  it('is due when something has changed, and again after a while when nothing has', () => {
    const isDue = createReservationReport();
    const reserved = new Map([['ws', 5n]]);
    expect([
      isDue(new Map(), 0),
      isDue(reserved, 1_000),
      isDue(new Map(reserved), 2_000),
      isDue(new Map([['ws', 6n]]), 3_000),
      isDue(new Map([['ws', 6n]]), 17_999),
      isDue(new Map([['ws', 6n]]), 18_000),
      isDue(new Map([['other', 6n]]), 19_000),
      isDue(new Map(), 20_000),
      isDue(new Map(), 90_000),
    ]).toEqual([false, true, false, true, false, true, true, true, false]);
  });
});

describe('what replicas have reserved', () => {
  it('is the sum of what each told last, without those that are gone', async () => {
    const { queries, workspace } = await sampleDatabase();
    const other = await createWorkspace(queries, { name: 'other', credit: 0n, maxInFlight: 1 }, sampleAuthor);
    const tell = (replica: string, amounts: Readonly<Record<string, bigint>>, now = sampleNow) =>
      writeReservations(queries, { replica, reserved: new Map(Object.entries(amounts)), now });
    const reserved = (now = sampleNow) => reservedFor(queries, workspace.id, now);
    expect(await reserved()).toBe(0n);
    await tell('a', { [workspace.id]: 5n, [other.id]: 70n });
    await tell('b', { [workspace.id]: 9_000_000_000_000_000_000n });
    await tell('c', { [workspace.id]: 9_000_000_000_000_000_000n });
    expect(await reserved()).toBe(18_000_000_000_000_000_005n);
    await tell('b', {});
    await tell('c', { [other.id]: 1n });
    expect(await reserved()).toBe(5n);
    expect([await reserved(sampleNow + 60_000), await reserved(sampleNow + 60_001)]).toEqual([5n, 0n]);
    const rows = () =>
      queries
        .selectFrom('reservations')
        .select(['replica', 'amount'])
        .orderBy('replica')
        .orderBy('amount', 'desc')
        .execute();
    await forgetGone(queries, sampleNow + 60_000);
    expect(await rows()).toEqual([
      { replica: 'a', amount: 70n },
      { replica: 'a', amount: 5n },
      { replica: 'c', amount: 1n },
    ]);
    await tell('a', { [workspace.id]: 6n }, sampleNow + 1);
    expect(await rows()).toEqual([
      { replica: 'a', amount: 6n },
      { replica: 'c', amount: 1n },
    ]);
    await forgetGone(queries, sampleNow + 60_001);
    expect(await rows()).toEqual([{ replica: 'a', amount: 6n }]);
  });

  it('of a replica that is gone hold nothing back when the clock was an hour ahead and is set back', async () => {
    const { queries, workspace } = await sampleDatabase();
    const hour = 3_600_000;
    const tell = (replica: string, now: number) =>
      writeReservations(queries, { replica, reserved: new Map([[workspace.id, 5n]]), now });
    await tell('gone', sampleNow + hour);
    await tell('by-a-clock-that-differs', sampleNow + 5_000);
    expect(await reservedFor(queries, workspace.id, sampleNow)).toBe(5n);
    await forgetGone(queries, sampleNow);
    expect(await queries.selectFrom('reservations').select('replica').execute()).toEqual([
      { replica: 'by-a-clock-that-differs' },
    ]);
  });

  it('are of any number of workspaces', async () => {
    const { queries } = await sampleDatabase();
    const reserved = new Map(Array.from({ length: 2_500 }, (_, number) => [`ws_${number}`, BigInt(number)]));
    await writeReservations(queries, { replica: 'a', reserved, now: sampleNow });
    expect(await queries.selectFrom('reservations').select('replica').execute()).toHaveLength(2_500);
    expect(await reservedFor(queries, 'ws_2499', sampleNow)).toBe(2_499n);
  });
});
