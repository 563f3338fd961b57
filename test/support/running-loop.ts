import { expect } from 'vitest';
import { createKey } from '../../src/books/accounts/keys.ts';
import { createWorkspace } from '../../src/books/accounts/workspaces.ts';
import type { JournalSegment } from '../../src/books/databases/journal/journal.ts';
import { createWorkerLoop } from '../../src/books/store/worker-loop.ts';
import type { StoreReply } from '../../src/books/store/worker-message.ts';
import { createFakeClock } from './fake-clock.ts';
import { memoryDatabase, memoryJournal } from './memory-store.ts';
import { sampleAuthor } from './sample-database.ts';
import { sampleOutcome } from './sample-outcome.ts';

/** A loop on a database with one workspace and one key. */
export async function runningLoop(
  options: {
    readonly segments?: readonly JournalSegment[];
    readonly fullBytes?: number;
  } = {},
) {
  const { database, state } = await memoryDatabase();
  const workspace = await createWorkspace(
    database.queries,
    { name: 'acme', credit: 100n, maxInFlight: 1 },
    sampleAuthor,
  );
  const { key, text } = await createKey(database.queries, { workspace: 'acme', rate: 1, burst: 1 }, sampleAuthor);
  const ids = { workspaceId: workspace.id, keyId: key.id };
  const disk = memoryJournal(
    options.segments?.map((one) => ({ ...one, rows: one.rows.map((row) => ({ ...row, ...ids })) })),
  );
  const clock = createFakeClock();
  const replies: StoreReply[] = [];
  let opening: () => Promise<typeof database> = async () => database;
  const loop = createWorkerLoop({
    ...{ replica: 'one', journal: disk.journal, fullBytes: options.fullBytes ?? 1_000, retentionDays: 0, clock },
    open: () => opening(),
    reply: (message) => void replies.push(message),
    nextTurn: () => new Promise((resolve) => setImmediate(resolve)),
  });
  /** Waits until the loop has replied with a message of this kind, and returns the last one. */
  const replied = async <Kind extends StoreReply['kind']>(kind: Kind) => {
    const isOfKind = (reply: StoreReply): reply is Extract<StoreReply, { readonly kind: Kind }> => reply.kind === kind;
    await expect.poll(() => replies.some(isOfKind)).toBe(true);
    return replies.findLast(isOfKind)!;
  };
  const status = () => replies.findLast((reply) => reply.kind === 'status')?.status;
  /** Hands a batch to the loop. Each row costs 2. */
  const send = (...requestIds: readonly string[]) => {
    replies.length = 0;
    loop.take({
      kind: 'settle',
      outcomes: requestIds.map((requestId) => sampleOutcome({ ...ids, requestId, cost: 2n })),
    });
  };
  /** The replies to batches. */
  const answers = () => replies.filter(({ kind }) => kind === 'settled' || kind === 'journaled');
  const settle = async (...requestIds: readonly string[]) => {
    send(...requestIds);
    await expect.poll(() => answers().length).toBeGreaterThan(0);
    return answers()[0]!;
  };
  const balance = async () =>
    (await database.queries.selectFrom('workspaces').select('balance').executeTakeFirstOrThrow()).balance;
  const reserved = async () =>
    (await database.queries.selectFrom('reservations').select('amount').execute()).map(({ amount }) => amount);
  const untilUp = async () => {
    await expect.poll(() => status()?.database).toBe('up');
  };
  /** The database answers again. Lets the pause before the next attempt pass, and waits until the loop has seen it. */
  const comeBack = async () => {
    state.fault = undefined;
    clock.advance(250);
    await untilUp();
  };
  const refuseToOpen = (error: Error | undefined) => {
    opening = error === undefined ? async () => database : () => Promise.reject(error);
  };
  return {
    ...{ loop, replies, replied, send, answers, settle, status, untilUp, comeBack, balance, reserved, refuseToOpen },
    ...ids,
    state,
    disk,
    clock,
    text,
  };
}
