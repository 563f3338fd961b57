// @suite both-databases
import { expect, it } from 'vitest';
import { databaseKind, sampleAuthor, sampleDatabase, sampleNow } from '../../../test/support/sample-database.ts';
import type { PlaygroundKey } from '../core/administration.ts';
import { listAudit } from './audit.ts';
import { findCredentials } from './find-credentials.ts';
import { hashKey, looksLikeKey } from './key-text.ts';
import { changeKey } from './change-keys.ts';
import { createKey, listKeys, pageOfKeys } from './keys.ts';
import { openDatabase } from '../databases/open-database.ts';
import { playgroundKey } from './playground-keys.ts';

const hour = 3_600_000;

async function begin() {
  const sample = await sampleDatabase();
  const { queries, workspace } = sample;
  const wanted: PlaygroundKey = {
    ...{ workspace: workspace.id, owner: 'person mia', name: 'playground of mia', rate: 5, burst: 10 },
    ...{ budget: { limit: 7n, period: 'day' }, textMs: hour, spareMs: 60_000, refused: undefined },
  };
  const ask = (more: Partial<PlaygroundKey> = {}, now = sampleNow): Promise<string> =>
    playgroundKey(queries, { ...wanted, ...more }, { ...sampleAuthor, now });
  const own = async () => (await listKeys(queries)).filter(({ isOfPlayground }) => isOfPlayground);
  const statusOf = async (text: string, now = sampleNow) =>
    (await findCredentials(queries, [hashKey(text)], now)).get(hashKey(text))?.key.status;
  return { ...sample, wanted, ask, own, statusOf };
}

it('has one key for a person and a workspace, with the same text for every portal', async () => {
  const { ask, own, statusOf, location, wanted, workspace } = await begin();
  const text = await ask();
  expect([looksLikeKey(text), await statusOf(text)]).toEqual([true, 'active']);
  const other = await openDatabase(location, { missing: 'refuse', user: 'operator' });
  try {
    expect(await playgroundKey(other.queries, wanted, sampleAuthor)).toBe(text);
  } finally {
    await other.close();
  }
  expect(await ask({ owner: 'person ben' })).not.toBe(text);
  expect(await ask()).toBe(text);
  expect(await own()).toMatchObject([
    {
      ...{ id: expect.stringMatching(/^key_[0-9a-f]{20}$/), workspaceId: workspace.id, name: 'playground of mia' },
      ...{ rate: 5, burst: 10, expiresAt: sampleNow + hour },
    },
    { workspaceId: workspace.id, budget: { limit: 7n, period: 'day' } },
  ]);
});

it('is made once, whoever else asks at the same moment', async () => {
  const { ask, own, location, wanted } = await begin();
  // Two connections to one file in one thread would wait for each other.
  const connections = databaseKind === 'postgres' ? 4 : 0;
  const others = await Promise.all(
    Array.from({ length: connections }, () => openDatabase(location, { missing: 'refuse', user: 'operator' })),
  );
  try {
    const texts = await Promise.all([
      ...others.flatMap(({ queries }) => [1, 2, 3].map(() => playgroundKey(queries, wanted, sampleAuthor))),
      ...[1, 2, 3].map(() => ask()),
    ]);
    expect(new Set(texts).size).toBe(1);
    expect(await own()).toHaveLength(1);
  } finally {
    await Promise.all(others.map((database) => database.close()));
  }
});

it('gets a new text before the old one ends, and keeps its id, its budget and its place in the trail', async () => {
  const { ask, own, statusOf, queries } = await begin();
  const first = await ask();
  expect(await ask({}, sampleNow + hour - 60_001)).toBe(first);
  const second = await ask({ name: 'playground of mia b' }, sampleNow + hour - 60_000);
  expect(second).not.toBe(first);
  expect([await statusOf(first), await statusOf(second)]).toEqual([undefined, 'active']);
  expect(await own()).toMatchObject([{ name: 'playground of mia b', expiresAt: sampleNow + 2 * hour - 60_000 }]);
  const [renewed, made] = await listAudit(queries, {}, 2);
  expect([renewed?.action, made?.action, renewed?.objectId]).toEqual(['key.update', 'key.create', made?.objectId]);
  expect(renewed?.before).toMatchObject({
    name: 'playground of mia',
    expires_at: new Date(sampleNow + hour).toISOString(),
  });
  expect(JSON.stringify([renewed, made])).not.toMatch(/sk-weir/);
});

it('gets a new text when the clock that made it was a month ahead', async () => {
  const { ask, own, statusOf } = await begin();
  const ahead = await ask({}, sampleNow + 31 * 24 * hour);
  const now = await ask();
  expect([await statusOf(ahead), await statusOf(now)]).toEqual([undefined, 'active']);
  expect(await own()).toMatchObject([{ expiresAt: sampleNow + hour }]);
});

it('is replaced at once when it was revoked, and has a new text when the gateway refused the old one', async () => {
  const { ask, own, statusOf, queries } = await begin();
  const first = await ask();
  const [before] = await own();
  await changeKey(queries, before?.id ?? '', { status: 'revoked' }, sampleAuthor);
  const second = await ask();
  expect([await statusOf(first), await statusOf(second)]).toEqual(['revoked', 'active']);
  expect(await own()).toHaveLength(2);
  // The clock stands still, and every text is another one.
  const third = await ask({ refused: second });
  const fourth = await ask({ refused: third });
  expect(new Set([first, second, third, fourth]).size).toBe(4);
  expect([await statusOf(third), await statusOf(fourth)]).toEqual([undefined, 'active']);
  expect(await ask({ refused: second })).toBe(fourth);
  expect(await own()).toHaveLength(2);
});

it('stays suspended, whatever is asked, and mends an expiry that was changed by hand', async () => {
  const { ask, own, statusOf, queries } = await begin();
  await ask();
  const [{ id } = { id: '' }] = await own();
  await changeKey(queries, id, { status: 'suspended' }, sampleAuthor);
  expect(await statusOf(await ask())).toBe('suspended');
  // Gateways refuse an expired key with another answer than a suspended one.
  expect(await statusOf(await ask({}, sampleNow + 9 * hour))).toBe('suspended');
  await changeKey(queries, id, { status: 'active' }, sampleAuthor);
  await changeKey(queries, id, { expiresAt: sampleNow + 1_000 * hour }, sampleAuthor);
  expect(await statusOf(await ask())).toBe('active');
  expect(await own()).toMatchObject([{ id, expiresAt: sampleNow + hour }]);
});

it('is not in the pages of the keys of its workspace', async () => {
  const { ask, queries, workspace, key } = await begin();
  await ask();
  await createKey(queries, { workspace: 'acme', rate: 1, burst: 1 }, { ...sampleAuthor, now: sampleNow + 1 });
  const { items } = await pageOfKeys(queries, workspace.id, { limit: 9, cursor: undefined });
  expect(items).toHaveLength(2);
  expect(items).toContainEqual(key);
});
