import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { sampleDatabase, sampleNow } from '../../../test/support/sample-database.ts';
import { createKey, findCredential, findKey, listKeys, setKeyBudget, setKeyStatus } from './keys.ts';
import { hashKey } from './new-key.ts';
import { createWorkspace } from './workspaces.ts';

const wanted = { rate: 100, burst: 200, now: sampleNow };
const budget = { limit: 5_000_000_000_001n, period: 'month' } as const;

describe('keys', () => {
  it('are found by the hash of their text, with who pays', async () => {
    const { queries, workspace, key, text } = await sampleDatabase();
    const credential = await findCredential(queries, hashKey(text));
    expect(credential?.workspace).toEqual(workspace);
    expect(credential?.key).toEqual({ id: key.id, workspaceId: workspace.id, status: 'active', rate: 100, burst: 200 });
    expect(await findCredential(queries, hashKey('sk-weir-other'))).toBeUndefined();
  });

  it('are nowhere on the disk as text', async () => {
    const { file, text } = await sampleDatabase();
    const bytes = [file, `${file}-wal`].map((path) => readFileSync(path));
    expect(bytes.some((content) => content.includes(hashKey(text)))).toBe(true);
    expect(bytes.some((content) => content.includes(text) || content.includes(text.slice(8)))).toBe(false);
  });

  it('belong to a workspace that exists', async () => {
    const { queries } = await sampleDatabase();
    await expect(createKey(queries, { ...wanted, workspace: 'nobody' })).rejects.toThrow('no workspace named "nobody"');
    expect(await listKeys(queries)).toHaveLength(1);
  });

  it('are listed for all or for one workspace', async () => {
    const { queries, workspace, key } = await sampleDatabase();
    const other = await createWorkspace(queries, { name: 'other', credit: 0n, maxInFlight: 1, now: sampleNow });
    const { key: second } = await createKey(queries, { ...wanted, workspace: other.id, now: sampleNow + 1 });
    expect(await listKeys(queries)).toEqual([key, second]);
    expect(await listKeys(queries, workspace)).toEqual([key]);
    expect(second.workspaceName).toBe('other');
  });

  it('carry a budget from the start, or later, or no more', async () => {
    const { queries } = await sampleDatabase();
    const { key } = await createKey(queries, { ...wanted, workspace: 'acme', budget });
    expect((await findKey(queries, key.id)).budget).toEqual(budget);
    expect((await setKeyBudget(queries, key.id, { limit: 0n, period: 'total' })).budget).toEqual({
      limit: 0n,
      period: 'total',
    });
    expect((await findKey(queries, key.id)).budget).toEqual({ limit: 0n, period: 'total' });
    expect(await setKeyBudget(queries, key.id, undefined)).not.toHaveProperty('budget');
    expect(await findKey(queries, key.id)).not.toHaveProperty('budget');
  });

  it('are suspended and resumed', async () => {
    const { queries, key } = await sampleDatabase();
    for (const status of ['suspended', 'active'] as const) {
      await setKeyStatus(queries, key.id, status);
      expect((await findKey(queries, key.id)).status).toBe(status);
    }
  });

  it('stay revoked', async () => {
    const { queries, key } = await sampleDatabase();
    await setKeyStatus(queries, key.id, 'revoked');
    for (const status of ['active', 'suspended'] as const) {
      await expect(setKeyStatus(queries, key.id, status)).rejects.toThrow('that is final');
    }
    expect((await setKeyStatus(queries, key.id, 'revoked')).status).toBe('revoked');
    expect((await findKey(queries, key.id)).status).toBe('revoked');
  });

  it('are refused by an id that does not exist', async () => {
    const { queries } = await sampleDatabase();
    await expect(setKeyStatus(queries, 'key_1', 'revoked')).rejects.toThrow('There is no key with the id "key_1".');
    await expect(setKeyBudget(queries, 'key_1', budget)).rejects.toThrow('There is no key');
  });
});
