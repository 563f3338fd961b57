import type { Kysely } from 'kysely';
import { migrate, migrations } from '../../src/books/databases/migrations.ts';
import type { Schema } from '../../src/books/databases/schema.ts';

/** Tables in the order in which they can be dropped. */
const tables = [
  'local_users',
  'vector_references',
  ...['outbox', 'event_subscriptions', 'statements', 'refusals'],
  ...[
    'tag_budgets',
    'usage_tags',
    'ledger_tags',
    'usage_hours',
    'usage_days',
    'requests',
    'ledger_routes',
    'ledger_models',
    'ledger_keys',
    'ledger_state',
  ],
  ...[
    'members',
    'service_accounts',
    'alerts',
    'thresholds',
    'declarations',
    'audit',
    'sessions',
    'reservations',
    'secrets',
    'inherited_spending',
    'spending',
    'credits',
    'keys',
    'identities',
    'workspaces',
  ],
  ...['kysely_migration', 'kysely_migration_lock'],
];

/** Makes the tables of a database anew as an earlier version made them: with the migrations up to this number. */
export async function makeTablesOf(step: string, queries: Kysely<Schema>): Promise<void> {
  for (const table of tables) await queries.schema.dropTable(table).ifExists().execute();
  await migrate(queries, Object.fromEntries(Object.entries(migrations).filter(([name]) => name.slice(0, 4) <= step)));
}
