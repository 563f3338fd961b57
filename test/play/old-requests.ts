import { createKey } from '../../src/books/accounts/keys.ts';
import { createWorkspace } from '../../src/books/accounts/workspaces.ts';
import type { DatabaseLocation } from '../../src/books/databases/database.ts';
import { openDatabase } from '../../src/books/databases/open-database.ts';
import { listRequests } from '../../src/books/ledger/list-requests.ts';
import { settleBatch } from '../../src/books/ledger/settle-batch.ts';
import { sampleOutcome } from '../support/sample-outcome.ts';

const dayMs = 86_400_000;

/**
 * Settles requests of the last months, which a service with a retention of a day removes beside what is played. Resolves with what
 * counts those that are left.
 */
export async function settleOldRequests(location: DatabaseLocation): Promise<() => Promise<number>> {
  const by = { actor: { kind: 'command-line', name: 'play' }, now: Date.now() } as const;
  const database = await openDatabase(location, { missing: 'refuse', user: 'operator' });
  try {
    const { id: workspaceId } = await createWorkspace(
      database.queries,
      { name: 'old', credit: 10n ** 12n, maxInFlight: 1 },
      by,
    );
    const { key } = await createKey(database.queries, { workspace: workspaceId, rate: 1, burst: 1 }, by);
    for (let days = 100; days > 40; days -= 1) {
      const startedAt = Date.now() - days * dayMs;
      const rows = Array.from({ length: 50 }, (_, index) =>
        sampleOutcome({
          ...{ workspaceId, keyId: key.id, requestId: `old-${days}-${index}`, startedAt: startedAt + index, cost: 3n },
        }),
      );
      await settleBatch(database, rows);
    }
    return async () => {
      const now = await openDatabase(location, { missing: 'refuse', user: 'operator' });
      try {
        return (await listRequests(now.queries, { workspaceId }, 100_000)).length;
      } finally {
        await now.close();
      }
    };
  } finally {
    await database.close();
  }
}
