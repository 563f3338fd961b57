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
  const hashes = keys.map(({ text }) => hashKey(text));
  const found = await findCredentials(queries, hashes, plan.startsAt + Math.floor(scheduler.now()));
  return services.flatMap((service) =>
    hashes.flatMap((hash, number) => {
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
