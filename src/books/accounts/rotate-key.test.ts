// @suite both-databases
import { describe, expect, it } from 'vitest';
import { sampleAuthor, sampleDatabase, sampleNow } from '../../../test/support/sample-database.ts';
import { sampleOutcome } from '../../../test/support/sample-outcome.ts';
import type { BudgetPeriod } from '../../core/account.ts';
import type { Budget } from '../core/administration.ts';
import { verifyLedger } from '../ledger/verify-ledger.ts';
import { listAudit } from './audit.ts';
import { changeKey } from './change-keys.ts';
import { findCredential } from './find-credentials.ts';
import { createKey, findKey, keyLabels, keyMakers, pageOfKeys } from './keys.ts';
import { playgroundKey } from './playground-keys.ts';
import { rotateKey } from './rotate-key.ts';

const hour = 3_600_000;
const overlap = { overlapMs: 24 * hour };
const settings = {
  ...{ name: 'CI', rate: 7, burst: 9, models: ['qwen/*'] },
  budget: { limit: 5n, period: 'week' },
} as const;

describe('rotateKey', () => {
  it('makes a key with the same settings, and the earlier one expires after the overlap', async () => {
    const { queries } = await sampleDatabase();
    const made = await createKey(queries, { ...settings, workspace: 'acme' }, sampleAuthor);
    const by = { ...sampleAuthor, now: sampleNow + hour };
    const { key, text, earlier } = await rotateKey(queries, made.key.id, overlap, by);
    expect(key).toMatchObject({ ...settings, workspaceName: 'acme', status: 'active', expiresAt: undefined });
    expect(key.id).not.toBe(made.key.id);
    expect(earlier).toEqual({ ...made.key, expiresAt: sampleNow + 25 * hour });
    // Both are found by their texts.
    for (const [given, id] of [
      [text, key.id],
      [made.text, made.key.id],
    ] as const) {
      expect((await findCredential(queries, given, by.now))?.key.id).toBe(id);
    }
    expect((await listAudit(queries, {}, 2)).map(({ action, objectId }) => [action, objectId])).toEqual([
      ['key.rotate', made.key.id],
      ['key.create', key.id],
    ]);
  });

  it('does not make a life longer: an earlier expiry stays', async () => {
    const { queries } = await sampleDatabase();
    const expiresAt = sampleNow + 2 * hour;
    const made = await createKey(queries, { ...settings, workspace: 'acme', expiresAt }, sampleAuthor);
    const { key, earlier } = await rotateKey(queries, made.key.id, overlap, sampleAuthor);
    expect([key.expiresAt, earlier.expiresAt]).toEqual([expiresAt, expiresAt]);
  });

  it('keeps a suspension', async () => {
    const { queries, key: old } = await sampleDatabase();
    await changeKey(queries, old.id, { status: 'suspended' }, sampleAuthor);
    expect((await rotateKey(queries, old.id, overlap, sampleAuthor)).key.status).toBe('suspended');
  });

  it('refuses keys that are revoked, have expired, or belong to the portal, and makes nothing then', async () => {
    const { queries, workspace, key } = await sampleDatabase();
    const expired = await createKey(
      queries,
      { ...settings, workspace: 'acme', expiresAt: sampleNow + 1 },
      sampleAuthor,
    );
    await playgroundKey(
      queries,
      {
        ...{ workspace: workspace.id, owner: 'mia', name: 'playground of mia', rate: 1, burst: 1 },
        ...{ textMs: hour, spareMs: 1, refused: undefined },
      },
      sampleAuthor,
    );
    const playground = await queries.selectFrom('keys').select('id').where('playground_of', 'is not', null).execute();
    await changeKey(queries, key.id, { status: 'revoked' }, sampleAuthor);
    const before = await queries.selectFrom('keys').selectAll().orderBy('id').execute();
    const later = { ...sampleAuthor, now: sampleNow + 1 };
    await expect(rotateKey(queries, key.id, overlap, later)).rejects.toThrow('was revoked, so it cannot be replaced');
    await expect(rotateKey(queries, expired.key.id, overlap, later)).rejects.toThrow('has expired');
    await expect(rotateKey(queries, playground[0]?.id ?? '', overlap, later)).rejects.toThrow('belongs to the portal');
    await expect(rotateKey(queries, 'key_none', overlap, later)).rejects.toThrow('no key');
    expect(await queries.selectFrom('keys').selectAll().orderBy('id').execute()).toEqual(before);
  });
});

describe('the budget of a key that replaces another one', () => {
  const day = 24 * hour;

  /** A key that spent 30 two days ago, 12 today and 100 in forty days, rotated twice, with 3 spent between. */
  async function rotatedTwice(budget: Budget | undefined) {
    const { queries, workspace, settle } = await sampleDatabase('10');
    const { key: first } = await createKey(queries, { ...settings, budget, workspace: 'acme' }, sampleAuthor);
    const spend = async (keyId: string, requestId: string, of: { readonly cost: bigint; readonly startedAt: number }) =>
      settle([sampleOutcome({ ...of, keyId, requestId, workspaceId: workspace.id })]);
    await spend(first.id, 'r1', { cost: 30n, startedAt: sampleNow - 2 * day });
    await spend(first.id, 'r2', { cost: 12n, startedAt: sampleNow });
    // A clock that was ahead has counted this in a later period of a day.
    await spend(first.id, 'r4', { cost: 100n, startedAt: sampleNow + 40 * day });
    const second = await rotateKey(queries, first.id, overlap, sampleAuthor);
    await spend(second.key.id, 'r3', { cost: 3n, startedAt: sampleNow });
    const third = await rotateKey(queries, second.key.id, overlap, sampleAuthor);
    const spentAt = async (now: number) => (await findCredential(queries, third.text, now))?.spent;
    return { queries, spentAt, ids: [first.id, second.key.id, third.key.id] };
  }

  it.each<readonly [BudgetPeriod, bigint, bigint]>([
    ['day', 15n, 0n],
    ['total', 145n, 145n],
  ])('counts what was used of it in the period: %s', async (period, now, later) => {
    const { queries, spentAt, ids } = await rotatedTwice({ limit: 100n, period });
    expect(await spentAt(sampleNow)).toBe(now);
    expect(await spentAt(sampleNow + 40 * day)).toBe(later);
    // Sums of spending are those of the ledger, so each key has its own.
    expect(await queries.selectFrom('spending').select(['key_id', 'amount']).orderBy('amount').execute()).toEqual([
      { key_id: ids[1], amount: 3n },
      { key_id: ids[0], amount: 12n },
      { key_id: ids[0], amount: 30n },
      { key_id: ids[0], amount: 100n },
    ]);
    expect(await verifyLedger(queries)).toMatchObject({ spendingDays: 4, spendingDifferences: [] });
    // Twin: without what it inherited, its budget is fresh.
    await queries.deleteFrom('inherited_spending').execute();
    expect(await spentAt(sampleNow)).toBe(0n);
  });

  it('is none where there was none', async () => {
    const { spentAt } = await rotatedTwice(undefined);
    expect(await spentAt(sampleNow)).toBe(0n);
  });
});

describe('a list of keys', () => {
  it('is searched by a part of name, id or first characters, literally and in any case', async () => {
    const { queries, workspace } = await sampleDatabase();
    const make = async (name: string) =>
      (await createKey(queries, { ...settings, workspace: 'acme', name }, sampleAuthor)).key;
    const [build, percent] = [await make('CI build'), await make('100%_done')];
    const found = async (search: string) =>
      (await pageOfKeys(queries, workspace.id, { limit: 9, cursor: undefined, search })).items.map(({ id }) => id);
    expect(await found('ci BUI')).toEqual([build.id]);
    expect(await found('%')).toEqual([percent.id]);
    expect(await found('0_')).toEqual([]);
    expect(await found(build.id.slice(5))).toEqual([build.id]);
    expect(await found(build.prefix ?? '')).toEqual([build.id]);
    expect(await found('\\')).toEqual([]);
  });

  it('has the names, the workspaces and the makers of keys', async () => {
    const { queries, key } = await sampleDatabase();
    const { key: named } = await createKey(queries, { ...settings, workspace: 'acme' }, sampleAuthor);
    const ids = [key.id, named.id, 'key_none'];
    expect(await keyLabels(queries, ids)).toEqual(
      new Map([
        [key.id, { name: undefined, workspace: 'acme' }],
        [named.id, { name: 'CI', workspace: 'acme' }],
      ]),
    );
    expect((await keyMakers(queries, ids)).get(named.id)).toEqual(sampleAuthor.actor);
    expect(await keyMakers(queries, [])).toEqual(new Map());
    expect((await findKey(queries, named.id)).name).toBe('CI');
  });
});
