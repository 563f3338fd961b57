import { findCredentials } from '../../src/books/accounts/find-credentials.ts';
import { hashKey } from '../../src/books/accounts/key-text.ts';
import type { Credential } from '../../src/core/account.ts';
import type { OpenDatabase } from '../../src/books/databases/database.ts';
import type { World } from './world-view.ts';

/** Where admission knows other funds of a key than the database has. Only services that have served the key lately know any. */
export async function fundsFaults(
  { keys, plan, scheduler, services }: Pick<World, 'keys' | 'plan' | 'scheduler' | 'services'>,
  queries: OpenDatabase['queries'],
): Promise<readonly string[]> {
  // A service that looked for an account before its first request would remember that there is none.
  const opened = [...keys.entries()].filter(([, { id }]) => id !== '');
  const hashes = opened.map(([number, { text, hash }]) => [number, hash ?? hashKey(text)] as const);
  const found = await findCredentials(
    queries,
    hashes.map(([, hash]) => hash),
    plan.startsAt + Math.floor(scheduler.now()),
  );
  return services.flatMap((service) =>
    hashes.flatMap(([number, hash]) => {
      const known = service?.store()?.findCredential(hash);
      // It is being read anew.
      if (known instanceof Promise) known.catch(() => undefined);
      const [has, wanted] = [known instanceof Promise ? undefined : known, found.get(hash)].map(textOf);
      if (has === undefined || has === wanted) return [];
      return [`key ${number} has ${has} at service ${service?.number}, and ${wanted} in the database`];
    }),
  );
}

const textOf = (credential: Credential | undefined): string | undefined =>
  credential && `${credential.workspace.balance} left and ${credential.spent} spent`;
