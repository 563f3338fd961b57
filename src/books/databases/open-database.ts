import type { DatabaseLocation, OpenDatabase, OpenOptions } from './database.ts';
import type { Machine } from './machine.ts';

/** Opens the accounts and the ledger, on this machine unless another is given, and brings their tables up to date. Rejects with `CannotOpen`. */
export async function openDatabase(
  location: DatabaseLocation,
  options: OpenOptions,
  machine?: Machine,
): Promise<OpenDatabase> {
  switch (location.kind) {
    case 'sqlite':
      return (await import('./sqlite/open.ts')).openSqlite(location, options, machine);
    case 'postgres':
      // A process loads only the driver that it needs.
      return (await import('./postgres/open.ts')).openPostgres(location, options, machine);
  }
}
