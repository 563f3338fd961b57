import type { AccountOperations, PeoplesName } from '../books/store/account-operations.ts';

/**
 * The accounts and the ledger for the portal: the operations of people. Each rejects with a `Refusal` when it
 * cannot be done, with `DatabaseDown` while the database is down, and otherwise with the error of the database. Reports
 * never block the event loop of the portal.
 *
 * This file may import types of the store, and no code (.oxlintrc.json).
 */
export type PortalStore = AccountOperations<PeoplesName>;
