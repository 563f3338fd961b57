import { randomUUID } from 'node:crypto';
import { databaseLocation } from '../src/books/databases/database-location.ts';
import { systemClock } from '../src/process/clock.ts';
import { tryLock } from '../src/process/lock.ts';
import { startWorker } from '../src/process/worker-thread.ts';
import { createValkeyLimits } from '../src/gateway/rate-limits/valkey.ts';
import { findCredentials } from '../src/books/accounts/find-credentials.ts';
import { createKey } from '../src/books/accounts/keys.ts';
import { hashKey } from '../src/books/accounts/key-text.ts';
import { openDatabase } from '../src/books/databases/open-database.ts';
import { openStore, startStoreThread } from '../src/books/store/open-store.ts';
import { createWorkspace } from '../src/books/accounts/workspaces.ts';
import { sampleOutcome } from '../test/support/sample-outcome.ts';
import { cpuMs } from './process-usage.ts';

/** How much one server does when nothing else is asked of it. */
export interface StoreCapacity {
  readonly perSecond: number;
  /** Processor time of the server for one, ms. */
  readonly cpuMs: number;
}

interface Measured {
  readonly pids: () => Promise<readonly number[]>;
  readonly seconds: number;
}

async function capacity(
  { pids, seconds }: Measured,
  { lanes, work }: { readonly lanes: number; readonly work: (lane: number) => Promise<number> },
): Promise<StoreCapacity> {
  const from = performance.now();
  const before = (await cpuMs(await pids())) ?? 0;
  const until = from + seconds * 1_000;
  let count = 0;
  await Promise.all(
    Array.from({ length: lanes }, async (_, lane) => {
      while (performance.now() < until) {
        const done = await work(lane);
        count += done;
      }
    }),
  );
  const after = (await cpuMs(await pids())) ?? 0;
  return { perSecond: (count * 1_000) / (performance.now() - from), cpuMs: (after - before) / count };
}

/** Ledger rows that services settle, with so many workspaces in turn and so many services at once. */
export async function settlements(
  url: string,
  options: Measured & { readonly journal: string; readonly workspaces: number; readonly services: number },
): Promise<StoreCapacity> {
  const location = databaseLocation({ url });
  const database = await openDatabase(location, { missing: 'create', user: 'operator' });
  const now = Date.now();
  const by = { actor: { kind: 'admin-token', name: 'scale' }, now } as const;
  const accounts: { readonly workspaceId: string; readonly keyId: string }[] = [];
  for (let index = 0; index < options.workspaces; index += 1) {
    const name = `scale-${randomUUID().slice(0, 8)}`;
    await createWorkspace(database.queries, { name, credit: 10n ** 18n, maxInFlight: 1_000 }, by);
    const { text } = await createKey(database.queries, { workspace: name, rate: 1_000, burst: 1_000 }, by);
    const hash = hashKey(text);
    const credential = (await findCredentials(database.queries, [hash], now)).get(hash);
    if (credential === undefined) throw new Error('the key that was made is not there');
    accounts.push({ workspaceId: credential.workspace.id, keyId: credential.key.id });
  }
  await database.close();
  const stores = await Promise.all(
    Array.from({ length: options.services }, (_, at) =>
      openStore({ location, journal: `${options.journal}-${at}`, tryLock, thread: startStoreThread(startWorker) }),
    ),
  );
  const batch = 100;
  let number = 0;
  const measured = await capacity(options, {
    lanes: options.services * 4,
    work: async (lane) => {
      const store = stores[lane % stores.length];
      await Promise.all(
        Array.from({ length: batch }, async () => {
          number += 1;
          const account = accounts[number % accounts.length];
          await store?.settle(
            sampleOutcome({ requestId: randomUUID(), startedAt: Date.now(), ...account, cost: 1_000n }),
          );
        }),
      );
      return batch;
    },
  });
  await Promise.all(stores.map((store) => store.close()));
  return measured;
}

/** Requests that are admitted and given back, each as a service asks for one: so many at once. */
export async function admissions(url: string, options: Measured & { readonly lanes: number }): Promise<StoreCapacity> {
  const up = Promise.withResolvers<void>();
  const limits = createValkeyLimits({
    ...{ address: { kind: 'server', url } as const, clock: systemClock, newId: randomUUID, timeoutMs: 30_000 },
    onUp: up.resolve,
    onDown: () => undefined,
  });
  await up.promise;
  const measured = await capacity(options, {
    lanes: options.lanes,
    work: async (lane) => {
      const result = await limits.admit({
        ...{ keyId: `key-${lane}`, workspaceId: `workspace-${lane}`, rate: 1_000_000, burst: 1_000_000 },
        ...{ maxInFlight: 1_000_000, funds: { balance: 10n ** 18n, budget: undefined } },
      });
      if (result.kind === 'admitted') await result.slot.release();
      return 1;
    },
  });
  await limits.link.close();
  return measured;
}
