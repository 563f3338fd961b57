import type { DatabaseConnection } from 'kysely';
import type { Money } from '../core/money.ts';
import type { LedgerTable, SpendingTable } from './schema.ts';

/** What a row that was written costs, and whom. */
export type WrittenRow = Pick<LedgerTable, 'request_id' | 'workspace_id' | 'key_id' | 'cost' | 'started_at'>;

export type WorkspaceCost = readonly [workspaceId: string, cost: Money];

/**
 * The statements of a settlement, in the words of one database: they are run thousands of times a second, so each
 * database has them in the form in which it is fast. All run inside one transaction, in this order, and each takes its
 * rows in the order of their keys: two processes that settle at once can wait for each other, but never in a circle.
 */
export interface LedgerWrites {
  /** Writes the rows that are not there yet and gives those; a request id that is there, or comes twice, is written once. */
  readonly insertRows: (connection: DatabaseConnection, rows: readonly LedgerTable[]) => Promise<readonly WrittenRow[]>;
  /** Takes the costs from the balances and gives the balances of the workspaces there are. */
  readonly charge: (
    connection: DatabaseConnection,
    costs: readonly WorkspaceCost[],
  ) => Promise<readonly { readonly id: string; readonly balance: Money }[]>;
  /** Adds to what keys have spent by day. */
  readonly addSpending: (connection: DatabaseConnection, spending: readonly SpendingTable[]) => Promise<void>;
}
