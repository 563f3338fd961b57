import { expect, it } from 'vitest';
import { keyFields, tagBudgetFields, workspaceFields } from '../../src/core/account.ts';
import { identityLimits } from '../../src/core/identity.ts';
import { creditFields, sessionFields } from '../../src/books/core/administration.ts';
import { localUserFields } from '../../src/books/core/local-user.ts';
import { memberFields } from '../../src/books/core/membership.ts';
import { serviceAccountFields } from '../../src/books/core/service-account.ts';
import { columnsOf } from '../../src/books/databases/account-columns.ts';
import { sampleDatabase } from '../support/sample-database.ts';

type Sample = Awaited<ReturnType<typeof sampleDatabase>>;

/** The columns of each table that are fields, and those that are none because nobody sets or sees them in this form. */
const tables = {
  workspaces: [
    ...Object.keys(columnsOf(workspaceFields, {})),
    ...['id', 'name', 'balance', 'created_at', 'alert_base', 'alert_period'],
  ],
  keys: [
    ...Object.keys(columnsOf(keyFields, {})),
    ...['id', 'hash', 'prefix', 'workspace_id', 'created_at', 'playground_of', 'maker', 'identity_id', 'subject'],
  ],
  identities: [
    ...Object.keys(columnsOf(identityLimits, {})),
    ...['id', 'name', 'issuer', 'audience', 'rules', 'created_at'],
  ],
  credits: [...Object.keys(columnsOf(creditFields, {})), 'workspace_id', 'idempotency_key'],
  members: [...Object.keys(columnsOf(memberFields, {})), 'workspace_id', 'subject', 'created_at'],
  service_accounts: [
    ...Object.keys(columnsOf(serviceAccountFields, {})),
    ...['hash', 'scopes', 'workspaces', 'revoked_at'],
  ],
  local_users: [...Object.keys(columnsOf(localUserFields, {})), 'password', 'invitation'],
  sessions: [...Object.keys(columnsOf(sessionFields, {})), 'workspaces'],
  tag_budgets: [...Object.keys(columnsOf(tagBudgetFields, {})), 'tag'],
};

/** Columns without a field, and fields without a column. */
async function differences({ queries }: Sample): Promise<readonly string[]> {
  const found = await queries.introspection.getTables();
  const inDatabase = found.flatMap(({ name, columns }) => columns.map((column) => `${name}.${column.name}`));
  const ofAccounts = new Set(inDatabase.filter((column) => Object.hasOwn(tables, column.split('.')[0] ?? '')));
  const known = new Set(
    Object.entries(tables).flatMap(([name, columns]) => columns.map((column) => `${name}.${column}`)),
  );
  return [...ofAccounts.symmetricDifference(known)];
}

it('each column of an account is a field of its table, and each field has its columns', async () => {
  expect(await differences(await sampleDatabase())).toEqual([]);
});

it('a column without a field is found, and a field without a column', async () => {
  const sample = await sampleDatabase();
  await sample.queries.schema.alterTable('credits').addColumn('purpose', 'text').execute();
  await sample.queries.schema.alterTable('members').dropColumn('name').execute();
  expect(await differences(sample)).toEqual(['credits.purpose', 'members.name']);
});
