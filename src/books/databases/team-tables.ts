import { type Kysely, sql } from 'kysely';
import { memberSources } from '../core/membership.ts';
import { workspaceRoles } from '../core/rights.ts';
import { acceptActors } from './audit-table.ts';

/**
 * Adds what teams that run themselves need: members, the maker of a key, the address of a session, and service accounts
 * (docs/how-to/teams.md).
 */
export async function addTeams(database: Kysely<unknown>): Promise<void> {
  const { schema } = database;
  await schema.alterTable('keys').addColumn('maker', 'text').execute();
  await schema.alterTable('sessions').addColumn('address', 'text').execute();
  await schema
    .createTable('members')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('workspace_id', 'text', (column) => column.notNull())
    .addColumn('address', 'text')
    .addColumn('subject', 'text')
    .addColumn('name', 'text')
    .addColumn('role', 'text', (column) => column.notNull().check(isOneOf('role', workspaceRoles)))
    .addColumn('source', 'text', (column) => column.notNull().check(isOneOf('source', memberSources)))
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('last_sign_in_at', 'bigint')
    .execute();
  await schema
    .createIndex('invited_once')
    .unique()
    .on('members')
    .columns(['workspace_id', 'address'])
    .where(sql<boolean>`source = 'invitation'`)
    .execute();
  await schema
    .createIndex('in_a_group_once')
    .unique()
    .on('members')
    .columns(['workspace_id', 'subject'])
    .where(sql<boolean>`source = 'group'`)
    .execute();
  await schema.createIndex('members_by_address').on('members').column('address').execute();
  await schema.createIndex('members_by_subject').on('members').column('subject').execute();
  await addServiceAccounts(database);
}

async function addServiceAccounts(database: Kysely<unknown>): Promise<void> {
  const { schema } = database;
  await schema
    .createTable('service_accounts')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('hash', 'text', (column) => column.notNull().unique())
    .addColumn('prefix', 'text', (column) => column.notNull())
    .addColumn('scopes', 'text', (column) => column.notNull())
    .addColumn('workspaces', 'text')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .addColumn('revoked_at', 'bigint')
    .addColumn('last_used_at', 'bigint')
    .execute();
  // The audit trail has the name, so two accounts that work must not share one.
  await schema
    .createIndex('one_account_of_a_name')
    .unique()
    .on('service_accounts')
    .column('name')
    .where(sql<boolean>`revoked_at is null`)
    .execute();
  await acceptActors(database, [
    ...['command-line', 'admin-token', 'portal-user', 'controller', 'service', 'service-account'],
  ]);
}

function isOneOf(column: string, words: readonly string[]) {
  return sql<boolean>`${sql.ref(column)} in (${sql.join(words.map((word) => sql.lit(word)))})`;
}
