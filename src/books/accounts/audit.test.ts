// @suite both-databases
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { databaseKind, sampleAuthor, sampleDatabase, sampleNow } from '../../../test/support/sample-database.ts';
import type { AuditEntry, Authorship } from '../core/administration.ts';
import { listAudit } from './audit.ts';
import { hashKey } from './key-text.ts';
import { changeKey } from './change-keys.ts';
import { createKey } from './keys.ts';
import { creditWorkspace } from './credits.ts';
import { createWorkspace, changeWorkspace } from './workspaces.ts';

const budget = { limit: 5_000_000_000_000n, period: 'month' } as const;
const all = Number.MAX_SAFE_INTEGER;

/** The fields in which an object differs from what it was. */
function changes({ before, after }: AuditEntry): object {
  const differs = (name: string): boolean => JSON.stringify(before?.[name]) !== JSON.stringify(after[name]);
  return Object.fromEntries(
    Object.keys(after)
      .filter(differs)
      .map((name) => [name, [before?.[name], after[name]]]),
  );
}

describe('the audit trail', () => {
  it('records every change of a workspace: when, who, what, before and after', async () => {
    const { queries, workspace } = await sampleDatabase('10');
    const by: Authorship = { actor: { kind: 'portal-user', name: 'eve@example.com' }, now: sampleNow + 5 };
    await creditWorkspace(queries, 'acme', { amount: -3_000_000_000_000n, note: 'refund' }, by);
    await changeWorkspace(queries, 'acme', { maxInFlight: 7 }, by);
    await changeWorkspace(queries, workspace.id, { status: 'suspended' }, by);
    await changeWorkspace(
      queries,
      'acme',
      { status: 'active' },
      { ...by, actor: { kind: 'admin-token', name: 'ops' } },
    );

    const [resumed, suspended, limited, corrected, keyMade, made] = await listAudit(queries, {}, all);
    expect(made).toEqual({
      id: expect.any(Number) as number,
      at: sampleNow,
      actor: sampleAuthor.actor,
      action: 'workspace.create',
      objectId: workspace.id,
      workspaceId: workspace.id,
      workspaceName: 'acme',
      before: undefined,
      after: { name: 'acme', status: 'active', balance: '10', max_in_flight: 256 },
    });
    expect(keyMade?.action).toBe('key.create');
    expect(corrected).toMatchObject({ action: 'workspace.credit', at: by.now, actor: by.actor });
    expect(changes(corrected as AuditEntry)).toEqual({
      balance: ['10', '7'],
      credit: [undefined, '-3'],
      note: [undefined, 'refund'],
    });
    expect(changes(limited as AuditEntry)).toEqual({ max_in_flight: [256, 7] });
    expect(suspended?.action).toBe('workspace.suspend');
    expect(changes(suspended as AuditEntry)).toEqual({ status: ['active', 'suspended'] });
    expect(resumed).toMatchObject({ action: 'workspace.resume', actor: { kind: 'admin-token', name: 'ops' } });
  });

  it('records every change of a key', async () => {
    const { queries, key, workspace } = await sampleDatabase();
    await changeKey(queries, key.id, { budget }, sampleAuthor);
    await changeKey(queries, key.id, { burst: 9 }, sampleAuthor);
    await changeKey(queries, key.id, { models: ['a/*'], expiresAt: sampleNow + 1, name: 'CI' }, sampleAuthor);
    await changeKey(queries, key.id, { status: 'suspended' }, sampleAuthor);
    await changeKey(queries, key.id, { status: 'active' }, sampleAuthor);
    await changeKey(queries, key.id, { status: 'revoked' }, sampleAuthor);

    const entries = (await listAudit(queries, {}, all)).toReversed().slice(1);
    expect(entries.every((entry) => entry.objectId === key.id && entry.workspaceId === workspace.id)).toBe(true);
    expect(entries.map((entry) => [entry.action, changes(entry)])).toEqual([
      [
        'key.create',
        {
          ...{ name: [undefined, null], status: [undefined, 'active'], budget: [undefined, null] },
          ...{ rate: [undefined, 100], burst: [undefined, 200], expires_at: [undefined, null] },
          ...{ tokens_per_minute: [undefined, null], not_enforced: [undefined, null] },
          models: [undefined, null],
        },
      ],
      ['key.budget', { budget: [null, { limit: '5', period: 'month' }] }],
      ['key.limits', { burst: [200, 9] }],
      ['key.update', { name: [null, 'CI'], expires_at: [null, '2026-07-01T00:00:00.001Z'], models: [null, ['a/*']] }],
      ['key.suspend', { status: ['active', 'suspended'] }],
      ['key.resume', { status: ['suspended', 'active'] }],
      ['key.revoke', { status: ['active', 'revoked'] }],
    ]);
  });

  it('does not tell of what changed nothing', async () => {
    const { queries, key } = await sampleDatabase();
    const before = await listAudit(queries, {}, all);
    await changeKey(queries, key.id, { status: 'active' }, sampleAuthor);
    await changeKey(queries, key.id, { budget: undefined }, sampleAuthor);
    await changeWorkspace(queries, 'acme', { status: 'active' }, sampleAuthor);
    expect(await listAudit(queries, {}, all)).toEqual(before);
  });

  it('keeps neither a change without its entry nor an entry without its change', async () => {
    const { queries, key } = await sampleDatabase();
    const before = await listAudit(queries, {}, all);
    await expect(createWorkspace(queries, { name: 'acme', credit: 1n, maxInFlight: 1 }, sampleAuthor)).rejects.toThrow(
      'already',
    );
    expect(await listAudit(queries, {}, all)).toEqual(before);

    // An entry that cannot be written: the check of the column refuses its author.
    const nobody = { actor: { kind: 'nobody', name: 'x' }, now: sampleNow } as unknown as Authorship;
    await expect(changeKey(queries, key.id, { status: 'revoked' }, nobody)).rejects.toThrow(/constraint/i);
    await expect(creditWorkspace(queries, 'acme', { amount: 5n, note: undefined }, nobody)).rejects.toThrow(
      /constraint/i,
    );
    await expect(createKey(queries, { workspace: 'acme', rate: 1, burst: 1 }, nobody)).rejects.toThrow(/constraint/i);
    expect(await queries.selectFrom('keys').select('status').execute()).toEqual([{ status: 'active' }]);
    expect(await queries.selectFrom('credits').select('id').execute()).toHaveLength(1);
    expect(await listAudit(queries, {}, all)).toEqual(before);
  });

  it.each([
    ['update', sql`update audit set actor_name = 'somebody else'`],
    ['delete', sql`delete from audit`],
    databaseKind === 'sqlite'
      ? (['replace', sql`insert or replace into audit select * from audit`] as const)
      : (['truncate', sql`truncate audit`] as const),
  ])('refuses to %s its entries', async (_, statement) => {
    const { queries } = await sampleDatabase();
    const before = await listAudit(queries, {}, all);
    expect(before).toHaveLength(2);
    await expect(statement.execute(queries)).rejects.toThrow('entries of the audit trail are never changed or removed');
    expect(await listAudit(queries, {}, all)).toEqual(before);
  });

  it('holds neither the text of a key nor its hash', async () => {
    const { queries, text } = await sampleDatabase();
    const rows = JSON.stringify(await queries.selectFrom('audit').selectAll().execute(), (_, value: unknown) =>
      typeof value === 'bigint' ? String(value) : value,
    );
    expect(rows).toContain('key.create');
    for (const secret of [text, text.slice('sk-weir-'.length, 30), hashKey(text)]) expect(rows).not.toContain(secret);
  });

  it('is read newest first, by workspace, author, action, object and time, so many entries at most', async () => {
    const { queries, workspace } = await sampleDatabase();
    const at = (minutes: number): Authorship => ({ ...sampleAuthor, now: sampleNow + minutes * 60_000 });
    const other = await createWorkspace(queries, { name: 'other', credit: 0n, maxInFlight: 1 }, at(1));
    await changeWorkspace(queries, 'other', { status: 'suspended' }, at(2));
    await changeWorkspace(queries, 'acme', { status: 'suspended' }, at(3));
    const read = async (filter: Parameters<typeof listAudit>[1], limit = all) =>
      (await listAudit(queries, filter, limit)).map(({ action, at: moment }) => [
        action,
        (moment - sampleNow) / 60_000,
      ]);
    expect(await read({ workspaceId: other.id })).toEqual([
      ['workspace.suspend', 2],
      ['workspace.create', 1],
    ]);
    expect(await read({ since: at(2).now })).toEqual([
      ['workspace.suspend', 3],
      ['workspace.suspend', 2],
    ]);
    expect(await read({ until: at(1).now, workspaceId: workspace.id }, 1)).toEqual([['key.create', 0]]);
    expect(await read({ action: 'workspace.suspend' })).toEqual([
      ['workspace.suspend', 3],
      ['workspace.suspend', 2],
    ]);
    expect(await read({ action: 'workspace.suspend', objectId: other.id })).toEqual([['workspace.suspend', 2]]);
    expect(await read({ actorName: 'a stranger' })).toEqual([]);
    expect((await read({ actorName: sampleAuthor.actor.name, since: at(1).now })).length).toBe(3);
    const [, third, ...older] = await listAudit(queries, {}, all);
    expect(await listAudit(queries, { before: third?.id }, all)).toEqual(older);
  });

  it('knows what an object was right before, whoever else changes it at the same moment', async () => {
    const { queries } = await sampleDatabase('0');
    const once = { amount: 1n, note: undefined };
    await Promise.all(Array.from({ length: 20 }, () => creditWorkspace(queries, 'acme', once, sampleAuthor)));
    const credits = (await listAudit(queries, {}, 20)).toReversed();
    expect(credits.map((entry) => [entry.before?.['balance'], entry.after['balance']])).toEqual(
      Array.from({ length: 20 }, (_, units) => [usd(units), usd(units + 1)]),
    );
  });
});

const usd = (units: number): string => (units === 0 ? '0' : `0.${String(units).padStart(12, '0').replace(/0+$/, '')}`);
