// @suite both-databases
import { describe, expect, it } from 'vitest';
import { sampleAuthor, sampleDatabase, sampleNow } from '../../../test/support/sample-database.ts';
import type { NewServiceAccount } from '../core/service-account.ts';
import { listAudit } from './audit.ts';
import { looksLikeKey, looksLikeToken, newKey, newToken } from './key-text.ts';
import {
  createServiceAccount,
  findServiceAccount,
  listServiceAccounts,
  revokeServiceAccount,
} from './service-accounts.ts';

const hour = 3_600_000;

async function begin() {
  const sample = await sampleDatabase();
  const make = (more: Partial<NewServiceAccount> = {}) =>
    createServiceAccount(
      sample.queries,
      { name: 'ci', scopes: ['usage:read'], workspaces: ['acme'], expiresAt: sampleNow + hour, ...more },
      sampleAuthor,
    );
  return { ...sample, make };
}

describe('a service account', () => {
  it('is found by its token, of which the database has the hash alone', async () => {
    const { queries, workspace, make } = await begin();
    const { account, token } = await make({ scopes: ['keys:write', 'usage:read'] });
    expect(token).toMatch(/^weir-sa-[0-9A-Za-z]{49}$/);
    expect(account).toMatchObject({ scopes: ['usage:read', 'keys:write'], workspaces: [workspace.id] });
    expect(await findServiceAccount(queries, token, sampleNow)).toEqual(account);
    const row = await queries.selectFrom('service_accounts').selectAll().executeTakeFirstOrThrow();
    expect(
      JSON.stringify(row, (_, value: unknown) => (typeof value === 'bigint' ? Number(value) : value)),
    ).not.toContain(token.slice(12));
    const changed = `${token.slice(0, -1)}${token.endsWith('0') ? '1' : '0'}`;
    expect(await findServiceAccount(queries, changed, sampleNow)).toBeUndefined();
    expect(await findServiceAccount(queries, newToken(), sampleNow)).toBeUndefined();
  });

  it.each<[Partial<NewServiceAccount>, string]>([
    [{ name: 'a b' }, '"a b" cannot be the name of a service account'],
    [{ scopes: [] }, 'needs a scope'],
    [{ workspaces: [] }, 'needs a workspace'],
    [{ workspaces: ['nobody'] }, 'There is no workspace named "nobody".'],
    [{ expiresAt: sampleNow }, 'that moment has passed'],
  ])('is not made with %j', async (more, message) => {
    const { make, queries } = await begin();
    await expect(make(more)).rejects.toThrow(message);
    expect(await listServiceAccounts(queries)).toEqual([]);
  });

  it('has a name of its own among those that are not revoked', async () => {
    const { queries, make } = await begin();
    const first = (await make()).account;
    await expect(make()).rejects.toThrow('There is already a service account named "ci".');
    await revokeServiceAccount(queries, 'ci', sampleAuthor);
    const second = (await make()).account;
    expect((await revokeServiceAccount(queries, 'ci', sampleAuthor)).id).toBe(second.id);
    expect((await revokeServiceAccount(queries, first.id, sampleAuthor)).id).toBe(first.id);
    await expect(revokeServiceAccount(queries, 'cd', sampleAuthor)).rejects.toThrow(
      'There is no service account "cd".',
    );
  });

  it('is in the audit trail when it is made and once when it is revoked, in its only workspace', async () => {
    const { queries, workspace, make } = await begin();
    const { account, token } = await make();
    for (let count = 0; count < 2; count += 1) await revokeServiceAccount(queries, account.id, sampleAuthor);
    const entries = await listAudit(queries, { objectId: account.id }, 9);
    expect(entries.map(({ action, workspaceId, after }) => [action, workspaceId, after['status']])).toEqual([
      ['service-account.revoke', workspace.id, 'revoked'],
      ['service-account.create', workspace.id, 'active'],
    ]);
    expect(JSON.stringify(entries)).not.toContain(token);
    const everywhere = (await make({ name: 'all', workspaces: undefined })).account;
    expect((await listAudit(queries, { objectId: everywhere.id }, 9))[0]?.workspaceId).toBeUndefined();
  });
});

it('keys and tokens are not taken for each other', () => {
  const [key, token] = [newKey(), newToken()];
  expect([looksLikeKey(key), looksLikeToken(key), looksLikeKey(token), looksLikeToken(token)]).toEqual([
    ...[true, false, false, true],
  ]);
  const swapped = token.replace('weir-sa-', 'sk-weir-');
  expect([looksLikeToken(swapped), looksLikeToken(`${token}0`), looksLikeToken('weir-sa-')]).toEqual([
    ...[false, false, false],
  ]);
});
