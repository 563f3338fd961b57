import { describe, expect, it } from 'vitest';
import { runningLoop } from '../../../test/support/running-loop.ts';
import { sampleRefusal } from '../../../test/support/sample-refusal.ts';
import { sampleOutcome } from '../../../test/support/sample-outcome.ts';
import { hashKey } from '../accounts/key-text.ts';
import { CannotOpen } from '../databases/database.ts';
import type { JournalSegment } from '../databases/journal/journal.ts';
import type { StoreReply } from './worker-message.ts';
import { refusalRow } from '../core/refusal.ts';
import {
  addReason,
  advance,
  beginReplay,
  checkBatch,
  fateOf,
  findHashes,
  isForgetDue,
  journaledReply,
  maxLogged,
  mustRecover,
  nextWork,
  noRoomReply,
  type Readiness,
  replayRows,
  rowsOf,
  settledReply,
  statusOf,
  type WaitingWork,
} from './worker-rules.ts';

const nothing: WaitingWork = {
  batch: undefined,
  hashes: new Set(),
  reserved: undefined,
  refused: [],
  isLookWanted: false,
};
const row = refusalRow(sampleRefusal());
const ready: Readiness = { phase: 'open', database: 'up', isRetryArmed: false, isUpkeepDue: false };
const all: WaitingWork = { batch: [], hashes: new Set(['a']), reserved: new Map(), refused: [], isLookWanted: true };

describe('the next work', () => {
  it.each<[string, Partial<WaitingWork>, Partial<Readiness>, string]>([
    ['a batch before all else', all, {}, 'settle'],
    ['then look-ups', { ...all, batch: undefined }, {}, 'find'],
    ['then reservations', { ...all, batch: undefined, hashes: new Set() }, {}, 'report-reserved'],
    ['then a look at the database', { isLookWanted: true }, { isUpkeepDue: true }, 'look'],
    ['then counts of refused requests, before upkeep', { refused: [row] }, { isUpkeepDue: true }, 'count-refused'],
    ['upkeep when nothing waits', {}, { isUpkeepDue: true }, 'upkeep'],
    ['no upkeep while the database is down', {}, { isUpkeepDue: true, database: 'down' }, 'recover'],
    ['no upkeep while it closes', {}, { isUpkeepDue: true, phase: 'closing' }, 'rest'],
    ['requests before a recovery', { batch: [] }, { database: 'down' }, 'settle'],
    ['requests while it closes', { batch: [] }, { phase: 'closing' }, 'settle'],
    ['a recovery when the database is down', {}, { database: 'down' }, 'recover'],
    ['a recovery while rows are in the journal', {}, { database: 'replaying' }, 'recover'],
    ['no recovery before the next attempt', {}, { database: 'down', isRetryArmed: true }, 'rest'],
    ['no recovery while it closes', {}, { database: 'down', phase: 'closing' }, 'rest'],
    ['rest while the database is up', {}, {}, 'rest'],
  ])('is %s', (_, waiting, state, kind) => {
    expect(nextWork({ ...nothing, ...waiting }, { ...ready, ...state }).kind).toBe(kind);
  });

  it('looks up a limited number of hashes at once, the first ones', () => {
    const hashes = Array.from({ length: findHashes + 1 }, (_, index) => `h${index}`);
    const work = nextWork({ ...nothing, hashes: new Set(hashes) }, ready);
    expect(work).toEqual({ kind: 'find', hashes: hashes.slice(0, findHashes) });
  });

  it('is a step of a recovery after each request', () => {
    expect(mustRecover({ ...ready, database: 'replaying' })).toBe(true);
    expect(mustRecover({ ...ready, database: 'down', isRetryArmed: true })).toBe(false);
    expect(mustRecover(ready)).toBe(false);
  });
});

describe('the status', () => {
  const [full, fine] = [
    { bytes: 10, fault: undefined },
    { bytes: 9, fault: undefined },
  ];
  const broken = { bytes: 0, fault: 'ENOSPC' };
  it.each([
    ['up', fine, { hasRoom: true, journalFault: undefined, reason: undefined }],
    ['up', full, { hasRoom: false, journalFault: undefined, reason: undefined }],
    ['up', broken, { hasRoom: true, journalFault: undefined, reason: undefined }],
    ['down', fine, { hasRoom: true, journalFault: undefined, reason: 'gone' }],
    ['down', broken, { hasRoom: false, journalFault: 'ENOSPC', reason: 'gone' }],
    ['replaying', broken, { hasRoom: false, journalFault: 'ENOSPC', reason: undefined }],
  ] as const)('%s, journal %o: %o', (database, journal, expected) => {
    const status = statusOf(database, { journal, fullBytes: 10, reason: 'gone' });
    expect(status).toEqual({ ...expected, database, journalBytes: journal.bytes });
  });

  it('logs each reason of an outage once, and no more than a limit', () => {
    const first = addReason(new Set(), 'a');
    expect(first.isNew).toBe(true);
    expect(addReason(first.logged, 'a')).toEqual({ logged: first.logged, isNew: false });
    expect(addReason(first.logged, 'b').isNew).toBe(true);
    const many = new Set(Array.from({ length: maxLogged }, (_, index) => `r${index}`));
    expect(addReason(many, 'one more')).toEqual({ logged: many, isNew: false });
  });
});

describe('the reply to a batch', () => {
  const bad = sampleOutcome({ requestId: 'bad', startedAt: -1 });
  const good = sampleOutcome({ requestId: 'good', workspaceId: 'ws', keyId: 'k', cost: 2n, startedAt: 86_400_000 });
  const batch = checkBatch([bad, good, good]);

  it('has the faults of rows that can never be written', () => {
    expect(batch).toMatchObject({ rows: [good, good], indexOf: [1, 2], faults: [{ index: 0, reason: 'refused' }] });
  });

  it('numbers refused rows as in the batch', () => {
    const refused = [{ index: 1, message: 'no workspace' }];
    expect(settledReply(batch, { balances: [['ws', 5n]], spendings: [], refused })).toMatchObject({
      kind: 'settled',
      balances: [['ws', 5n]],
      faults: [{ index: 0 }, { index: 2, reason: 'refused', message: 'no workspace' }],
    });
  });

  it('has costs in place of balances when the journal has the rows', () => {
    expect(journaledReply(batch)).toMatchObject({
      kind: 'journaled',
      costs: [['ws', 4n]],
      spendings: [{ on: { keyId: 'k' }, day: 86_400_000, amount: 4n }],
      faults: [{ index: 0 }],
    });
  });

  it('has a fault for each row when nothing takes them', () => {
    const { faults } = noRoomReply(batch, 'full') as Extract<StoreReply, { readonly kind: 'settled' }>;
    expect(faults.map(({ index, reason }) => [index, reason])).toEqual([
      [0, 'refused'],
      [1, 'no-room'],
      [2, 'no-room'],
    ]);
  });
});

describe('a replay of a file', () => {
  const rows = Array.from({ length: replayRows + 1 }, (_, index) => sampleOutcome({ requestId: `r${index}` }));
  const whole: JournalSegment = { name: 'one', rows, torn: false };

  it('takes some rows at a time, in their order', () => {
    const begun = beginReplay(whole);
    expect(rowsOf(begun)).toEqual(rows.slice(0, replayRows));
    const second = advance(begun, 1);
    expect(rowsOf(second)).toEqual(rows.slice(replayRows));
    expect(advance(second, 2)).toMatchObject({ settled: rows.length, refused: 3 });
  });

  it.each([
    [{ settled: 0, refused: 0, torn: false }, 'more'],
    [{ settled: replayRows, refused: 2, torn: true }, 'more'],
    [{ settled: rows.length, refused: 0, torn: false }, 'remove'],
    [{ settled: rows.length, refused: 1, torn: false }, 'keep-refused'],
    [{ settled: rows.length, refused: 1, torn: true }, 'keep-refused'],
    [{ settled: rows.length, refused: 0, torn: true }, 'keep-damaged'],
  ] as const)('%o ends in: %s', ({ settled, refused, torn }, fate) => {
    expect(fateOf({ segment: { ...whole, torn }, settled, refused })).toBe(fate);
  });
});

it.each([
  [60_000, 0, true],
  [59_999, 0, false],
  [0, 60_000, true],
] as const)('reservations of gone replicas at %i, removed at %i, are due: %s', (now, forgotAt, isDue) => {
  expect(isForgetDue(now, forgotAt)).toBe(isDue);
});

const location = { kind: 'postgres', url: 'postgres://h/d' } as const;
const segment = (name: string, ids: readonly string[], torn = false): JournalSegment => ({
  ...{ name, torn },
  rows: ids.map((requestId) => sampleOutcome({ requestId, cost: 3n })),
});

describe('the loop', () => {
  it('settles what an earlier process left, then is up, and replies with the secret once', async () => {
    const { loop, replies, status, balance, disk } = await runningLoop({
      segments: [segment('a', ['a1', 'a2']), segment('b', ['a2', 'b1'], true)],
    });
    await loop.start();
    expect(status()).toEqual({
      database: 'up',
      journalBytes: 0,
      hasRoom: true,
      journalFault: undefined,
      reason: undefined,
    });
    expect(await balance()).toBe(100n - 9n);
    expect(disk.state.removed).toEqual([
      ['a', undefined],
      ['b', 'damaged'],
    ]);
    expect(replies.filter(({ kind }) => kind === 'secret')).toHaveLength(1);
    await loop.close();
  });

  it('tries again after a pause while the database cannot be opened, and rests meanwhile', async () => {
    const { loop, status, refuseToOpen, clock, untilUp } = await runningLoop();
    refuseToOpen(new CannotOpen(location, new Error('no route'), 'down'));
    await loop.start();
    expect(status()).toMatchObject({ database: 'down', reason: expect.stringContaining('no route') });
    expect(clock.armed()).toBe(1);
    refuseToOpen(undefined);
    clock.advance(249);
    expect(status()?.database).toBe('down');
    clock.advance(1);
    await untilUp();
    await loop.close();
  });

  it('reports a database that cannot be used, and tries no more', async () => {
    const { loop, replies, refuseToOpen, clock } = await runningLoop();
    refuseToOpen(new CannotOpen(location, new Error('password'), 'refused'));
    await loop.start();
    expect(replies.at(-1)).toMatchObject({ kind: 'unusable', message: expect.stringContaining('password') });
    expect(clock.armed()).toBe(0);
  });

  it('writes to the journal while the database is down, and settles that first when it is up', async () => {
    const { loop, state, settle, status, clock, balance, disk, comeBack } = await runningLoop();
    await loop.start();
    expect(await settle('a')).toMatchObject({ kind: 'settled', balances: [[expect.any(String), 98n]] });
    state.fault = 'the server has gone';
    expect(await settle('b')).toMatchObject({ kind: 'journaled', costs: [[expect.any(String), 2n]] });
    expect(status()).toMatchObject({ database: 'down', journalBytes: 1, reason: 'the server has gone' });
    // One fails to be probed, and one is not tried before the pause is over.
    clock.advance(250);
    await expect.poll(() => [state.probes, clock.armed()]).toEqual([1, 1]);
    expect(await settle('c')).toMatchObject({ kind: 'journaled' });
    expect(state.probes).toBe(1);
    await comeBack();
    expect([await balance(), disk.journal.isEmpty()]).toEqual([94n, true]);
    await loop.close();
  });

  it('charges a row once whose commit was answered too late, and which is therefore in the journal, too', async () => {
    const { loop, settle, status, state, comeBack, balance, disk } = await runningLoop();
    await loop.start();
    state.nextCommit = 'made';
    expect(await settle('a')).toMatchObject({ kind: 'journaled', costs: [[expect.any(String), 2n]] });
    expect(status()).toMatchObject({
      database: 'down',
      journalBytes: 1,
      reason: 'the outcome of a commit is unknown: the server has gone',
    });
    await comeBack();
    expect([await balance(), disk.journal.isEmpty()]).toEqual([98n, true]);
    await loop.close();
  });

  it.each([
    ['oldest', 'the journal cannot be read: EIO'],
    ['remove', "the journal's file a cannot be removed: EIO"],
  ] as const)('is down while its disk fails at %s, and charges each row once', async (failing, reason) => {
    const { loop, disk, status, clock, untilUp, balance } = await runningLoop({ segments: [segment('a', ['a1'])] });
    disk.state.failing = failing;
    await loop.start();
    expect(status()).toMatchObject({ database: 'down', reason });
    disk.state.failing = undefined;
    clock.advance(250);
    await untilUp();
    expect([await balance(), disk.journal.isEmpty()]).toEqual([97n, true]);
    await loop.close();
  });

  it('refuses rows that neither the database nor the journal takes, and reports that before', async () => {
    const { loop, state, disk, settle, status, replies } = await runningLoop();
    await loop.start();
    state.fault = 'gone';
    disk.state.fault = 'ENOSPC';
    expect(await settle('a')).toMatchObject({ kind: 'settled', faults: [{ index: 0, reason: 'no-room' }] });
    expect(status()).toMatchObject({ hasRoom: false, journalFault: 'ENOSPC' });
    expect(replies.findLastIndex(({ kind }) => kind === 'status')).toBeLessThan(
      replies.findIndex(({ kind }) => kind === 'settled'),
    );
    await loop.close();
  });

  it('does not look keys up while rows of the journal are not settled', async () => {
    const { loop, state, settle, replied, text } = await runningLoop();
    await loop.start();
    loop.take({ kind: 'find', hashes: [hashKey(text), 'unknown'] });
    expect((await replied('found')).found).toEqual([
      [hashKey(text), expect.objectContaining({ spent: 0n })],
      ['unknown', undefined],
    ]);
    state.fault = 'gone';
    await settle('a');
    loop.take({ kind: 'find', hashes: [hashKey(text)] });
    expect(await replied('not-searched')).toMatchObject({ message: 'the database is down' });
    await loop.close();
  });

  it('reads stopped keys from a database that stores nothing, whose state stays the same', async () => {
    const { loop, state, settle, replies, replied, clock, text } = await runningLoop();
    await loop.start();
    state.isFull = true;
    await settle('a');
    loop.take({ kind: 'find-again', hashes: [hashKey(text)] });
    clock.advance(250);
    const found = expect.objectContaining({ key: expect.objectContaining({ status: 'active' }) as object }) as object;
    expect(await replied('found')).toEqual({ kind: 'found', isBehind: true, found: [[hashKey(text), found]] });
    await expect.poll(() => clock.armed()).toBe(1);
    expect(replies.flatMap((one) => (one.kind === 'status' ? [one.status.database] : []))).not.toContain('replaying');
    await loop.close();
  });

  it.each(['with rows in the journal', 'without'])('reports a change after an outage %s', async (how) => {
    const { loop, state, settle, status, replies, comeBack } = await runningLoop();
    await loop.start();
    state.fault = 'the server has gone';
    if (how === 'without') loop.take({ kind: 'look' });
    else await settle('a');
    await expect.poll(() => status()?.database).toBe('down');
    await comeBack();
    const up = replies.findLastIndex((reply) => reply.kind === 'status' && reply.status.database === 'up');
    expect(replies[up + 1]).toEqual({ kind: 'changed' });
    await loop.close();
  });

  it('reports a change again if it came during a look-up, which may have read the old state', async () => {
    const { loop, state, replies, replied, text } = await runningLoop();
    await loop.start();
    replies.length = 0;
    loop.take({ kind: 'find', hashes: [hashKey(text)] });
    await replied('found');
    expect(replies.map(({ kind }) => kind)).toEqual(['found']);
    replies.length = 0;
    loop.take({ kind: 'find', hashes: [hashKey(text)] });
    // The look-up begins in the next microtask.
    await Promise.resolve();
    state.changed();
    await replied('found');
    expect(replies.map(({ kind }) => kind)).toEqual(['changed', 'found', 'changed']);
    await loop.close();
  });

  it('does a request that arrives in the turn in which it comes to rest', async () => {
    const { loop, replied } = await runningLoop();
    await loop.start();
    // Nothing waits, so the loop rests at once.
    void loop.start();
    loop.take({ kind: 'find', hashes: ['unknown'] });
    expect((await replied('found')).found).toEqual([['unknown', undefined]]);
    await loop.close();
  });

  it('notices an outage when it looks', async () => {
    const { loop, state, status } = await runningLoop();
    await loop.start();
    state.fault = 'gone';
    loop.take({ kind: 'look' });
    await expect.poll(() => status()?.database).toBe('down');
    await loop.close();
  });

  it('writes reservations only while the database is up, and closes everything', async () => {
    const { loop, state, disk, reserved, workspaceId, settle } = await runningLoop();
    await loop.start();
    loop.take({ kind: 'reserved', reserved: new Map([[workspaceId, 7n]]) });
    await expect.poll(reserved).toEqual([7n]);
    // While the database is down, no command can correct a balance.
    state.fault = 'gone';
    await settle('a');
    loop.take({ kind: 'reserved', reserved: new Map([[workspaceId, 8n]]) });
    await settle('b');
    state.fault = undefined;
    expect(await reserved()).toEqual([7n]);
    await loop.close();
    expect([state.isClosed, disk.state.isClosed]).toEqual([true, true]);
  });

  it('takes its reservations back when it closes', async () => {
    const { loop, reserved, workspaceId } = await runningLoop();
    await loop.start();
    loop.take({ kind: 'reserved', reserved: new Map([[workspaceId, 7n]]) });
    await expect.poll(reserved).toEqual([7n]);
    await loop.close();
    expect(await reserved()).toEqual([]);
  });

  it('takes a step of upkeep when nothing waits, and reports its end', async () => {
    const { loop, state, clock, replied } = await runningLoop();
    await loop.start();
    expect(state.upkeepSteps).toBe(0);
    clock.advance(0);
    expect((await replied('upkeep')).result).toBe('done');
    expect(state.upkeepSteps).toBe(1);
    await loop.close();
  });
});
