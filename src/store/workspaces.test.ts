import { describe, expect, it } from 'vitest';
import { sampleDatabase, sampleNow } from '../../test/support/sample-database.ts';
import { maxBalance, parseUsd } from '../core/money.ts';
import {
  createWorkspace,
  creditWorkspace,
  findWorkspace,
  listWorkspaces,
  setWorkspaceLimits,
  setWorkspaceStatus,
} from './workspaces.ts';

const wanted = { credit: 0n, maxInFlight: 256, now: sampleNow };

describe('workspaces', () => {
  it('are found by name and by id', async () => {
    const { queries, workspace } = await sampleDatabase();
    expect(await findWorkspace(queries, 'acme')).toEqual(workspace);
    expect(await findWorkspace(queries, workspace.id)).toEqual(workspace);
    await expect(findWorkspace(queries, 'nobody')).rejects.toThrow('There is no workspace named "nobody".');
    await expect(findWorkspace(queries, `ws_${'0'.repeat(20)}`)).rejects.toThrow('There is no workspace with the id');
  });

  it('are listed by name', async () => {
    const { queries } = await sampleDatabase();
    await createWorkspace(queries, { ...wanted, name: 'aardvark' });
    expect((await listWorkspaces(queries)).map(({ name }) => name)).toEqual(['aardvark', 'acme']);
  });

  it('have unique names', async () => {
    const { queries } = await sampleDatabase();
    await expect(createWorkspace(queries, { ...wanted, name: 'acme' })).rejects.toThrow(
      'already a workspace named "acme"',
    );
  });

  it.each(['', ' ', 'a b', '-a', '.a', 'a/b', 'é', 'a\n', 'x'.repeat(65), `ws_${'0'.repeat(20)}`])(
    'refuse the name %j',
    async (name) => {
      const { queries } = await sampleDatabase();
      await expect(createWorkspace(queries, { ...wanted, name })).rejects.toThrow('cannot be the name of a workspace');
    },
  );

  it.each(['a', '0', 'Team.A_b-c', 'ws_mine', 'x'.repeat(64)])('take the name %j', async (name) => {
    const { queries } = await sampleDatabase();
    expect((await createWorkspace(queries, { ...wanted, name })).name).toBe(name);
  });

  it('are credited to the last unit', async () => {
    const { queries } = await sampleDatabase('0.1');
    const { balance } = await creditWorkspace(queries, 'acme', { amount: 1n, now: sampleNow });
    expect(balance).toBe(100_000_000_001n);
    expect((await findWorkspace(queries, 'acme')).balance).toBe(100_000_000_001n);
  });

  it('hold the cap and not a unit more, and a refused credit leaves no trace', async () => {
    const { queries } = await sampleDatabase('1');
    const room = maxBalance - (parseUsd('1') ?? 0n);
    await expect(creditWorkspace(queries, 'acme', { amount: room + 1n, now: sampleNow })).rejects.toThrow(
      'at most $9000000',
    );
    expect((await findWorkspace(queries, 'acme')).balance).toBe(parseUsd('1'));
    expect(await queries.selectFrom('credits').select('amount').execute()).toEqual([{ amount: parseUsd('1') }]);
    expect((await creditWorkspace(queries, 'acme', { amount: room, now: sampleNow })).balance).toBe(maxBalance);
  });

  it('refuse a credit that no 64-bit column could hold, and one of nothing', async () => {
    const { queries } = await sampleDatabase();
    await expect(creditWorkspace(queries, 'acme', { amount: 2n ** 80n, now: sampleNow })).rejects.toThrow('at most');
    await expect(creditWorkspace(queries, 'acme', { amount: 0n, now: sampleNow })).rejects.toThrow('more than 0');
    await expect(creditWorkspace(queries, 'acme', { amount: -1n, now: sampleNow })).rejects.toThrow('more than 0');
    await expect(createWorkspace(queries, { ...wanted, name: 'rich', credit: maxBalance + 1n })).rejects.toThrow(
      'at most',
    );
  });

  it('may have more or fewer requests in flight than when they were made', async () => {
    const { queries, workspace } = await sampleDatabase();
    expect(await setWorkspaceLimits(queries, 'acme', { maxInFlight: 7 })).toEqual({ ...workspace, maxInFlight: 7 });
    expect((await findWorkspace(queries, 'acme')).maxInFlight).toBe(7);
    await expect(setWorkspaceLimits(queries, 'nobody', { maxInFlight: 7 })).rejects.toThrow('There is no workspace');
  });

  it('are suspended and resumed, as often as one likes', async () => {
    const { queries } = await sampleDatabase();
    for (const status of ['suspended', 'suspended', 'active', 'active'] as const) {
      expect((await setWorkspaceStatus(queries, 'acme', status)).status).toBe(status);
      expect((await findWorkspace(queries, 'acme')).status).toBe(status);
    }
  });
});
