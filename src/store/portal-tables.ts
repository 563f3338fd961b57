import type { Kysely } from 'kysely';

/**
 * Adds what the portal needs: its sessions, the beginnings of keys, by which people tell them apart, and what marks a credit that is
 * asked for twice.
 */
export async function addPortal({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('sessions')
    .addColumn('hash', 'text', (column) => column.primaryKey())
    .addColumn('role', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('workspaces', 'text', (column) => column.notNull())
    .addColumn('key_id', 'text', (column) => column.references('keys.id'))
    .addColumn('credential', 'text')
    .addColumn('csrf_token', 'text', (column) => column.notNull())
    .addColumn('log_out_hint', 'text')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .execute();
  await schema.createIndex('sessions_by_expiry').on('sessions').column('expires_at').execute();
  await schema.alterTable('keys').addColumn('prefix', 'text').execute();
  await schema.alterTable('credits').addColumn('idempotency_key', 'text').execute();
  await schema
    .createIndex('credits_asked_for_once')
    .unique()
    .on('credits')
    .columns(['workspace_id', 'idempotency_key'])
    .execute();
}
