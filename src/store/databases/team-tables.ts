import type { Kysely } from 'kysely';

/** Adds what teams that run themselves need: the maker of a key (docs/decisions/0090-roles-in-a-workspace-are-one-table.md). */
export async function addTeams({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable('keys').addColumn('maker', 'text').execute();
}
