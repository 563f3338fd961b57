import { describe, expect, it } from 'vitest';
import { runningLoop } from '../../../test/support/running-loop.ts';
import { holdMs, isHoldOver } from './worker-rules.ts';

/** A loop whose batch `a` is held: the answer to its commit is lost, and the journal's disk refuses it. */
async function holding(commit: 'made' | 'not-made') {
  const running = await runningLoop();
  const { loop, state, disk, replies, clock, send, answers } = running;
  await loop.start();
  state.nextCommit = commit;
  disk.state.fault = 'ENOSPC';
  send('a');
  const isRefusal = (reply: (typeof replies)[number]) =>
    reply.kind === 'status' && reply.status.message === 'the journal: ENOSPC';
  await expect.poll(() => replies.some(isRefusal)).toBe(true);
  expect(answers()).toEqual([]);
  /** Lets the pause before the next attempt pass, and waits until the attempt has failed. */
  const attemptInVain = async (ms = 250) => {
    const probes = state.probes + 1;
    clock.advance(ms);
    await expect.poll(() => [state.probes, clock.armed()]).toEqual([probes, 1]);
  };
  return { ...running, attemptInVain };
}

const settled = { kind: 'settled', faults: [] };
const refused = { kind: 'settled', balances: [], faults: [{ index: 0, reason: 'no-room', message: 'ENOSPC' }] };

describe('rows that the database may have and the journal refuses', () => {
  it.each(['made', 'not-made'] as const)(
    'are settled when the database is back, once, before it is up: the commit was %s',
    async (commit) => {
      const { loop, replies, answers, attemptInVain, balance, comeBack } = await holding(commit);
      await attemptInVain();
      expect(answers()).toEqual([]);
      await comeBack();
      expect(answers()).toMatchObject([settled]);
      const isUp = (reply: (typeof replies)[number]) => reply.kind === 'status' && reply.status.database === 'up';
      expect(replies.findIndex(({ kind }) => kind === 'settled')).toBeLessThan(replies.findIndex(isUp));
      expect(await balance()).toBe(98n);
      await loop.close();
      expect(answers()).toHaveLength(1);
    },
  );

  it('are held on when the database goes down again', async () => {
    const { loop, state, answers, attemptInVain, balance, comeBack } = await holding('made');
    Object.assign(state, { fault: undefined, nextCommit: 'not-made' });
    await attemptInVain();
    expect(answers()).toEqual([]);
    await comeBack();
    expect(answers()).toMatchObject([settled]);
    expect(await balance()).toBe(98n);
    await loop.close();
  });

  it('go to the journal as soon as it accepts them', async () => {
    const { loop, disk, answers, status, attemptInVain, balance, comeBack } = await holding('made');
    disk.state.fault = undefined;
    await attemptInVain();
    expect(answers()).toMatchObject([{ kind: 'journaled', costs: [[expect.any(String), 2n]], faults: [] }]);
    expect(status()).toMatchObject({ database: 'down', journalBytes: 1, journalFault: undefined });
    await comeBack();
    expect([await balance(), disk.journal.isEmpty()]).toEqual([98n, true]);
    await loop.close();
    expect(answers()).toHaveLength(1);
  });

  it('are refused when they were held for 30 seconds, and the next ones at once', async () => {
    const { loop, settle, answers, replies, attemptInVain } = await holding('made');
    await attemptInVain(holdMs - 1);
    expect(answers()).toEqual([]);
    await attemptInVain();
    expect(answers()).toMatchObject([refused]);
    const message = '1 requests fail that may be billed: the journal refused them (ENOSPC)';
    expect(replies).toContainEqual({ kind: 'status', status: expect.objectContaining({ message, hasRoom: false }) });
    expect(await settle('b')).toMatchObject(refused);
    await loop.close();
  });

  it.each([
    ['settled when the database is back', { fault: undefined }, {}, settled],
    ['journaled when the journal accepts them', {}, { fault: undefined }, { kind: 'journaled', faults: [] }],
    ['refused when neither does', {}, {}, refused],
  ])('are %s at the end of the store', async (_, ofDatabase, ofJournal, answer) => {
    const { loop, state, disk, answers } = await holding('made');
    Object.assign(state, ofDatabase);
    Object.assign(disk.state, ofJournal);
    await loop.close();
    expect(answers()).toMatchObject([answer]);
    expect([state.isClosed, disk.state.isClosed]).toEqual([true, true]);
  });

  it('do not keep the loop from other work', async () => {
    const { loop, replied, answers } = await holding('made');
    loop.take({ kind: 'find', hashes: ['unknown'] });
    expect(await replied('not-searched')).toMatchObject({ message: 'the database is down' });
    expect(answers()).toEqual([]);
    await loop.close();
  });
});

describe('rows that only the disk of the journal may have', () => {
  async function holdingInOutage() {
    const running = await runningLoop();
    const { loop, state, disk, settle, send, answers } = running;
    await loop.start();
    state.fault = 'gone';
    expect(await settle('earlier')).toMatchObject({ kind: 'journaled' });
    Object.assign(disk.state, { fault: 'EIO', mayKeep: true });
    send('a');
    await expect.poll(running.status).toMatchObject({ journalFault: 'EIO' });
    expect(answers()).toEqual([]);
    return running;
  }

  it('are settled after the rows of the journal, when the database is back', async () => {
    const { loop, answers, replies, balance, comeBack, disk } = await holdingInOutage();
    await comeBack();
    expect(answers()).toMatchObject([settled]);
    // Both rows are in the balance that the reply has.
    expect(answers()[0]).toMatchObject({ balances: [[expect.any(String), 96n]] });
    expect(replies.findIndex(({ kind }) => kind === 'settled')).toBeGreaterThan(0);
    expect([await balance(), disk.state.removed.length]).toEqual([96n, 1]);
    await loop.close();
  });

  it('go to the journal as soon as it accepts them', async () => {
    const { loop, disk, answers, clock, balance, comeBack } = await holdingInOutage();
    disk.state.fault = undefined;
    clock.advance(250);
    await expect.poll(answers).toMatchObject([{ kind: 'journaled' }]);
    await expect.poll(() => clock.armed()).toBe(1);
    await comeBack();
    expect([await balance(), disk.journal.isEmpty()]).toEqual([96n, true]);
    await loop.close();
  });
});

it.each([
  ['before the commit', (state: { fault: string | undefined }) => void (state.fault = 'gone')],
  ['before anything was sent', undefined],
] as const)('rows that the database surely does not have are refused at once: it fails %s', async (_, fail) => {
  const { loop, state, disk, settle } = await runningLoop();
  await loop.start();
  if (fail === undefined) {
    // The first batch notices the outage.
    state.fault = 'gone';
    await settle('first');
  }
  fail?.(state);
  disk.state.fault = 'ENOSPC';
  expect(await settle('a')).toMatchObject(refused);
  await loop.close();
});

it.each([
  [0, holdMs - 1, false],
  [0, 30_000, true],
  [5_000, 34_999, false],
  [5_000, 35_000, true],
])('rows held since %i are held for too long at %i: %s', (since, elapsed, isOver) => {
  expect(isHoldOver({ since }, elapsed)).toBe(isOver);
});
