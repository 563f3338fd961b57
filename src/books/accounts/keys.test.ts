// @suite both-databases
import { describe, expect, it } from 'vitest';
import { sampleDatabase, sampleNow, sampleAuthor } from '../../../test/support/sample-database.ts';
import { sampleOutcome } from '../../../test/support/sample-outcome.ts';
import { findCredentials } from './find-credentials.ts';
import { listAudit } from './audit.ts';
import { changeKey } from './change-keys.ts';
import { createKey, findKey, keyNames, listKeys, pageOfKeys } from './keys.ts';
import { hashKey } from './key-text.ts';
import { createWorkspace } from './workspaces.ts';

const wanted = { rate: 100, burst: 200 };
const budget = { limit: 5_000_000_000_001n, period: 'month' } as const;

describe('keys', () => {
  it('belong to a workspace that exists', async () => {
    const { queries } = await sampleDatabase();
    await expect(createKey(queries, { ...wanted, workspace: 'nobody' }, sampleAuthor)).rejects.toThrow(
      'no workspace named "nobody"',
    );
    expect(await listKeys(queries)).toHaveLength(1);
  });

  it('are listed for all or for one workspace', async () => {
    const { queries, workspace, key } = await sampleDatabase();
    const other = await createWorkspace(queries, { name: 'other', credit: 0n, maxInFlight: 1 }, sampleAuthor);
    const { key: second } = await createKey(
      queries,
      { ...wanted, workspace: other.id },
      { ...sampleAuthor, now: sampleNow + 1 },
    );
    expect(await listKeys(queries)).toEqual([key, second]);
    expect(await listKeys(queries, workspace)).toEqual([key]);
    expect(second.workspaceName).toBe('other');
  });

  it('are shown newest first, of one workspace, in pages', async () => {
    const { queries, workspace, key } = await sampleDatabase();
    await createWorkspace(queries, { name: 'other', credit: 0n, maxInFlight: 1 }, sampleAuthor);
    const make = async (name: string, minutes: number) =>
      (await createKey(queries, { ...wanted, workspace: name }, { ...sampleAuthor, now: sampleNow + minutes })).key;
    const first = await make('acme', 1);
    const sameMoment = [await make('acme', 2), await make('acme', 2)].toSorted((one, other) =>
      one.id < other.id ? 1 : -1,
    );
    await make('other', 3);
    const page = (limit: number, cursor?: string) => pageOfKeys(queries, workspace.id, { limit, cursor });
    expect(await page(4)).toEqual({ items: [...sameMoment, first, key], next: undefined });
    const begin = await page(1);
    const rest = await page(2, begin.next);
    expect([begin.items, rest.items]).toEqual([sameMoment.slice(0, 1), [sameMoment[1], first]]);
    expect(await page(1, rest.next)).toEqual({ items: [key], next: undefined });
  });

  it('are named by their ids, thousands at once, where they have a name', async () => {
    const { queries, key } = await sampleDatabase();
    const [one, other] = [
      (await createKey(queries, { ...wanted, workspace: 'acme', name: 'one' }, sampleAuthor)).key.id,
      (await createKey(queries, { ...wanted, workspace: 'acme', name: 'other' }, sampleAuthor)).key.id,
    ];
    const gone = Array.from({ length: 1_000 }, (_, index) => `key_${index}`);
    expect(await keyNames(queries, [one, ...gone, key.id, other])).toEqual(
      new Map([
        [one, 'one'],
        [other, 'other'],
      ]),
    );
  });

  it('change several settings at once, or none of them, and each change is in the trail', async () => {
    const { queries, key } = await sampleDatabase();
    const actions = async () =>
      (await listAudit(queries, {}, 10))
        .map(({ action }) => action)
        .toReversed()
        .slice(2);
    const change = { status: 'suspended', budget, rate: 5, name: 'CI' } as const;
    expect(await changeKey(queries, key.id, change, sampleAuthor)).toEqual({ ...key, ...change });
    const all = ['key.suspend', 'key.budget', 'key.limits', 'key.update'];
    expect(await actions()).toEqual(all);
    const late = { status: 'active', burst: 7, expiresAt: sampleNow } as const;
    await expect(changeKey(queries, key.id, late, sampleAuthor)).rejects.toThrow('that moment has passed');
    expect(await changeKey(queries, key.id, {}, sampleAuthor)).toEqual({ ...key, ...change });
    expect(await actions()).toEqual(all);
    expect(await changeKey(queries, key.id, { budget: undefined, burst: 7 }, sampleAuthor)).toEqual({
      ...{ ...key, ...change, burst: 7 },
      budget: undefined,
    });
  });

  it.each([
    [
      'that is missing',
      'key_1',
      { code: 'key_not_found', sentence: 'There is no key with the id "key_1".' },
      'list` shows them all.',
    ],
    ['that was revoked', undefined, { code: 'key_revoked', field: 'status' }, 'create` creates another one.'],
  ])('name what to do about one %s', async (_, id, refusal, hint) => {
    const { queries, key } = await sampleDatabase();
    await changeKey(queries, key.id, { status: 'revoked' }, sampleAuthor);
    const failure = await changeKey(queries, id ?? key.id, { status: 'active' }, sampleAuthor).catch(
      (error: unknown) => error,
    );
    expect(failure).toMatchObject({ ...refusal, message: expect.stringMatching(new RegExp(`\`weir key ${hint}$`)) });
  });

  it('carry a budget from the start, or later, or no more', async () => {
    const { queries } = await sampleDatabase();
    const { key } = await createKey(queries, { ...wanted, workspace: 'acme', budget }, sampleAuthor);
    expect((await findKey(queries, key.id)).budget).toEqual(budget);
    expect((await changeKey(queries, key.id, { budget: { limit: 0n, period: 'total' } }, sampleAuthor)).budget).toEqual(
      {
        limit: 0n,
        period: 'total',
      },
    );
    expect((await findKey(queries, key.id)).budget).toEqual({ limit: 0n, period: 'total' });
    expect((await changeKey(queries, key.id, { budget: undefined }, sampleAuthor)).budget).toBeUndefined();
    expect((await findKey(queries, key.id)).budget).toBeUndefined();
  });

  it('are given other limits, one of them or both', async () => {
    const { queries, key } = await sampleDatabase();
    expect(await changeKey(queries, key.id, { rate: 500 }, sampleAuthor)).toEqual({ ...key, rate: 500, burst: 200 });
    await changeKey(queries, key.id, { burst: 7 }, sampleAuthor);
    await changeKey(queries, key.id, { rate: 3, burst: 9 }, sampleAuthor);
    expect(await findKey(queries, key.id)).toEqual({ ...key, rate: 3, burst: 9 });
  });

  it('have a name, an expiry and models from the start, or later, or no more', async () => {
    const { queries } = await sampleDatabase();
    const details = { name: ' CI of team A ', expiresAt: sampleNow + 1, models: ['acme/*', 'qwen/qwen3-8b'] };
    const { key, text } = await createKey(queries, { ...wanted, workspace: 'acme', ...details }, sampleAuthor);
    const made = { name: 'CI of team A', expiresAt: sampleNow + 1, models: ['acme/*', 'qwen/qwen3-8b'] };
    expect(key).toMatchObject({ ...made, id: expect.stringMatching(/^key_[0-9a-f]{20}$/), prefix: text.slice(0, 12) });
    expect(await findKey(queries, key.id)).toEqual(key);
    const found = await findCredentials(queries, [hashKey(text)], sampleNow);
    expect(found.get(hashKey(text))?.key).toMatchObject({ expiresAt: made.expiresAt, models: made.models });

    // What is not given stays as it is, an expiry that has passed meanwhile included.
    const later = { ...sampleAuthor, now: sampleNow + 5 };
    expect(await changeKey(queries, key.id, { name: 'CI' }, later)).toEqual({ ...key, name: 'CI' });
    expect(await changeKey(queries, key.id, { models: ['a/b'] }, later)).toMatchObject({ models: ['a/b'], name: 'CI' });
    expect(await changeKey(queries, key.id, { expiresAt: sampleNow + 9 }, later)).toMatchObject({
      expiresAt: sampleNow + 9,
    });
    const none = { name: undefined, expiresAt: undefined, models: undefined };
    expect(await changeKey(queries, key.id, none, later)).toEqual({ ...key, ...none });
  });

  it.each([
    [{ expiresAt: sampleNow }, 'A key cannot expire at 2026-07-01T00:00:00.000Z: that moment has passed.'],
    [{ name: 'two\nlines' }, 'The name of a key must be one line of at most 100 characters.'],
    [{ name: 'x'.repeat(101) }, 'The name of a key must be one line of at most 100 characters.'],
  ])('are refused with %j, and nothing is changed', async (details, message) => {
    const { queries, key } = await sampleDatabase();
    const another = createKey(queries, { ...wanted, workspace: 'acme', ...details }, sampleAuthor);
    const field = 'name' in details ? 'name' : 'expires_at';
    await expect(another).rejects.toMatchObject({ field, message });
    await expect(changeKey(queries, key.id, details, sampleAuthor)).rejects.toThrow(message);
    expect(await listKeys(queries)).toEqual([key]);
  });

  it('are suspended and resumed', async () => {
    const { queries, key } = await sampleDatabase();
    for (const status of ['suspended', 'active'] as const) {
      await changeKey(queries, key.id, { status }, sampleAuthor);
      expect((await findKey(queries, key.id)).status).toBe(status);
    }
  });

  it('stay revoked', async () => {
    const { queries, key } = await sampleDatabase();
    await changeKey(queries, key.id, { status: 'revoked' }, sampleAuthor);
    for (const status of ['active', 'suspended'] as const) {
      await expect(changeKey(queries, key.id, { status }, sampleAuthor)).rejects.toThrow('that is final');
    }
    expect((await changeKey(queries, key.id, { status: 'revoked' }, sampleAuthor)).status).toBe('revoked');
    expect((await findKey(queries, key.id)).status).toBe('revoked');
  });

  it('say when they were last used', async () => {
    const { queries, key, ids, settle } = await sampleDatabase();
    expect((await findKey(queries, key.id)).lastUsedAt).toBeUndefined();
    for (const startedAt of [sampleNow + 5, sampleNow + 90_000_000, sampleNow + 9]) {
      await settle([sampleOutcome({ ...ids, requestId: `r${startedAt}`, startedAt, cost: 0n })]);
    }
    expect(await findKey(queries, key.id)).toMatchObject({ lastUsedAt: sampleNow + 90_000_000 });
    expect(await listKeys(queries)).toMatchObject([{ lastUsedAt: sampleNow + 90_000_000 }]);
  });

  it('are refused by an id that does not exist', async () => {
    const { queries } = await sampleDatabase();
    await expect(changeKey(queries, 'key_1', { status: 'revoked' }, sampleAuthor)).rejects.toThrow(
      'There is no key with the id "key_1".',
    );
    await expect(changeKey(queries, 'key_1', { budget }, sampleAuthor)).rejects.toThrow('There is no key');
    await expect(changeKey(queries, 'key_1', { rate: 1 }, sampleAuthor)).rejects.toThrow('There is no key');
  });
});
