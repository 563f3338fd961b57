import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { sampleOutcome } from '../../../test/support/sample-outcome.ts';
import { Failure } from '../../core/failure.ts';
import { createSettleQueue } from './settle-queue.ts';

function setUp(options: { readonly maxWaiting?: number; readonly maxBatch?: number } = {}) {
  const sent: string[][] = [];
  const deferred: (() => void)[] = [];
  const settled: string[] = [];
  const queue = createSettleQueue({
    send: (outcomes) => sent.push(outcomes.map(({ requestId }) => requestId)),
    defer: (run) => deferred.push(run),
    maxWaiting: options.maxWaiting ?? 100,
    maxBatch: options.maxBatch ?? 100,
  });
  const add = async (...requestIds: readonly string[]): Promise<void> => {
    await Promise.all(
      requestIds.map(async (requestId) => {
        await queue.add(sampleOutcome({ requestId }));
        settled.push(requestId);
      }),
    );
  };
  const endTurn = () => deferred.splice(0).forEach((run) => run());
  return { queue, sent, settled, deferred, add, endTurn };
}

describe('the settle queue', () => {
  it('sends the rows of one turn of the event loop together', async () => {
    const { queue, sent, deferred, add, endTurn } = setUp();
    const done = Promise.all([add('a'), add('b'), add('c')]);
    expect([sent, deferred.length]).toEqual([[], 1]);
    endTurn();
    expect(sent).toEqual([['a', 'b', 'c']]);
    queue.acknowledge([]);
    await done;
    expect(deferred).toEqual([]);
  });

  it('gathers what arrives during a commit into the next one', async () => {
    const { queue, sent, settled, deferred, add, endTurn } = setUp();
    const first = add('a');
    endTurn();
    const later = add('b', 'c');
    expect(deferred).toEqual([]);
    expect(sent).toEqual([['a']]);
    queue.acknowledge([]);
    await first;
    expect(settled).toEqual(['a']);
    endTurn();
    expect(sent).toEqual([['a'], ['b', 'c']]);
    queue.acknowledge([]);
    await later;
    expect(settled).toEqual(['a', 'b', 'c']);
  });

  it('keeps a batch within its size', async () => {
    const { queue, sent, add, endTurn } = setUp({ maxBatch: 2 });
    const done = add('a', 'b', 'c', 'd', 'e');
    endTurn();
    for (let batch = 0; batch < 3; batch += 1) {
      queue.acknowledge([]);
      endTurn();
    }
    await done;
    expect(sent).toEqual([['a', 'b'], ['c', 'd'], ['e']]);
  });

  it('rejects the row at fault alone, and keeps the reason for the log', async () => {
    const { queue, settled, add, endTurn } = setUp();
    const [good, bad] = [add('good'), add('bad')];
    endTurn();
    queue.acknowledge([{ index: 1, reason: 'refused', message: 'FOREIGN KEY constraint failed' }]);
    await good;
    const failure = await bad.catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(Failure);
    expect(failure).toMatchObject({ code: 'internal', cause: { message: 'FOREIGN KEY constraint failed' } });
    expect((failure as Failure).message).not.toContain('FOREIGN');
    expect(settled).toEqual(['good']);
  });

  it('has the caller retry a row for which the disk has no room', async () => {
    const { queue, add, endTurn } = setUp();
    const row = add('a');
    endTurn();
    queue.acknowledge([{ index: 0, reason: 'no-room', message: 'the journal is full' }]);
    await expect(row).rejects.toMatchObject({
      code: 'overloaded',
      message: 'The service could not record this request.',
    });
  });

  it('is overloaded when too many rows wait, and takes rows again when some are done', async () => {
    const { queue, add, endTurn } = setUp({ maxWaiting: 2 });
    const waiting = add('a', 'b');
    endTurn();
    await expect(add('c')).rejects.toMatchObject({
      ...{ code: 'overloaded', message: 'The service is overloaded. Retry with backoff.' },
    });
    queue.acknowledge([]);
    await waiting;
    const again = add('c');
    endTurn();
    queue.acknowledge([]);
    await again;
    expect(queue.size()).toBe(0);
  });

  it('is drained when the last row is durable', async () => {
    const { queue, add, endTurn } = setUp({ maxBatch: 1 });
    await queue.drained();
    const rows = add('a', 'b');
    endTurn();
    let drained = false;
    const draining = queue.drained().then(() => (drained = true));
    queue.acknowledge([]);
    await Promise.resolve();
    expect(drained).toBe(false);
    endTurn();
    queue.acknowledge([]);
    await Promise.all([rows, draining]);
    expect(drained).toBe(true);
  });

  it('sends nothing when the store is lost before the turn ends', async () => {
    const { queue, sent, add, endTurn } = setUp();
    const row = add('a');
    queue.fail(new Failure('internal', 'gone'));
    await expect(row).rejects.toThrow('gone');
    endTurn();
    expect(sent).toEqual([]);
  });

  it('leaves nobody waiting when the store is lost', async () => {
    const { queue, add, endTurn } = setUp();
    const ends: string[] = [];
    const note = (name: string, end: Promise<unknown>): void =>
      void end.then(
        () => ends.push(name),
        (error: unknown) => ends.push(`${name}: ${String(error)}`),
      );
    note('sent', add('sent'));
    endTurn();
    note('waiting', add('waiting'));
    note('drained', queue.drained());
    queue.fail(new Failure('internal', 'gone'));
    note('late', add('late'));
    await nextTurn();
    expect(ends.toSorted()).toEqual([
      'drained',
      'late: Failure: gone',
      'sent: Failure: gone',
      'waiting: Failure: gone',
    ]);
  });
});
