import { DatabaseSync } from 'node:sqlite';
import { type DatabaseConnection, type Driver, Kysely } from 'kysely';
import { onTestFinished } from 'vitest';
import type { Outcome } from '../../src/core/account.ts';
import { CommitInDoubt, type OpenDatabase } from '../../src/books/databases/database.ts';
import { AppendInDoubt, type Journal, type JournalSegment } from '../../src/books/databases/journal/journal.ts';
import { migrate } from '../../src/books/databases/migrations.ts';
import type { Schema } from '../../src/books/databases/schema.ts';
import { sqliteDialect } from '../../src/books/databases/sqlite/dialect.ts';
import { sqliteWrites } from '../../src/books/databases/sqlite/writes.ts';
import { createLedgerNames } from '../../src/books/ledger/ledger-names.ts';
import { entriesOf } from '../../src/books/ledger/stored-request.ts';

/**
 * An SQLite database in memory that fails as a server does while it is down: `fault` is the reason, or undefined. With
 * `nextCommit` it goes down at a commit, which is made or not, and whose answer is lost.
 */
export async function memoryDatabase() {
  const file = new DatabaseSync(':memory:', { enableForeignKeyConstraints: true });
  const state = {
    fault: undefined as string | undefined,
    /** It answers, and stores nothing. */
    isFull: false,
    nextCommit: undefined as 'made' | 'not-made' | undefined,
    ...{ probes: 0, upkeepSteps: 0, isClosed: false },
    /** Reports a change by another process. */
    changed: (): void => undefined,
  };
  const refuseIfDown = (): void => {
    if (state.fault !== undefined) throw new Error(state.fault);
  };
  const dialect = sqliteDialect(file);
  const queries = new Kysely<Schema>({
    dialect: {
      ...dialect,
      createDriver: () => {
        const driver = dialect.createDriver();
        // Fails in statements and not here: Kysely has one lock for the one connection, and keeps it when this rejects.
        const acquireConnection = async (): Promise<DatabaseConnection> => {
          const connection = await driver.acquireConnection();
          const executeQuery: DatabaseConnection['executeQuery'] = async (query) => {
            refuseIfDown();
            if (state.isFull && /^(insert|update)/.test(query.sql)) throw new Error('No space left on device');
            return connection.executeQuery(query);
          };
          return { ...connection, executeQuery };
        };
        const beginTransaction: Driver['beginTransaction'] = async (connection, settings) => {
          refuseIfDown();
          await driver.beginTransaction(connection, settings);
        };
        const commitTransaction: Driver['commitTransaction'] = async (connection) => {
          const { nextCommit } = state;
          if (nextCommit !== 'not-made') await driver.commitTransaction(connection);
          if (nextCommit === undefined) return;
          Object.assign(state, { nextCommit: undefined, fault: 'the server has gone' });
          throw new CommitInDoubt(new Error(state.fault));
        };
        return { ...driver, acquireConnection, beginTransaction, commitTransaction };
      },
    },
  });
  await migrate(queries);
  onTestFinished(() => queries.destroy());
  const names = createLedgerNames(queries);
  const database: OpenDatabase = {
    queries,
    writes: sqliteWrites,
    prepare: async (rows) => entriesOf(rows, await names.number(rows)),
    classify: (error) =>
      error instanceof Error && /constraint|no workspace/i.test(error.message) ? 'refused' : 'down',
    probe: async () => {
      state.probes += 1;
      refuseIfDown();
    },
    watch: ({ changed }) => {
      state.changed = changed;
      return { stop: async () => undefined };
    },
    beginUpkeep: () => ({
      place: 'between',
      steps: (async function* () {
        for (;;) {
          state.upkeepSteps += 1;
          yield 'done' as const;
        }
      })(),
      stop: async () => undefined,
    }),
    announce: async () => undefined,
    file: undefined,
    close: async () => void (state.isClosed = true),
  };
  return { database, state };
}

/**
 * A journal in memory. `fault` is why the disk refuses rows, or undefined, and with `mayKeep` it may keep them; `failing` is
 * what else it refuses. Each row counts as one byte.
 */
export function memoryJournal(segments: readonly JournalSegment[] = []) {
  const state = {
    segments: [...segments],
    fault: undefined as string | undefined,
    mayKeep: false,
    failing: undefined as 'oldest' | 'remove' | undefined,
    removed: [] as (readonly [string, 'damaged' | 'refused' | undefined])[],
    isClosed: false,
  };
  let open: Outcome[] = [];
  let refused: string | undefined;
  const journal: Journal = {
    append: (rows) => {
      refused = state.fault;
      if (refused !== undefined) throw state.mayKeep ? new AppendInDoubt(refused) : new Error(refused);
      open.push(...rows);
    },
    fault: () => refused,
    tryAgain: () => {
      refused = state.fault;
    },
    oldest: () => {
      if (state.failing === 'oldest') throw new Error('EIO');
      if (open.length > 0) state.segments.push({ name: `appended-${state.removed.length}`, rows: open, torn: false });
      open = [];
      return state.segments[0];
    },
    remove: ({ name }, keep) => {
      if (state.failing === 'remove') throw new Error('EIO');
      state.segments = state.segments.filter((segment) => segment.name !== name);
      state.removed.push([name, keep]);
    },
    bytes: () => state.segments.reduce((sum, { rows }) => sum + rows.length, open.length),
    isEmpty: () => state.segments.length === 0 && open.length === 0,
    close: () => {
      state.isClosed = true;
    },
  };
  return { journal, state };
}
