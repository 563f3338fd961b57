import { userInfo } from 'node:os';
import { expect, it, vi } from 'vitest';
import { runCommand } from '../../../test/support/run-command.ts';
import { temporaryFolder } from '../../../test/support/sample-database.ts';

// Each command is a process of its own, and this machine may be busy with other tests.
vi.setConfig({ testTimeout: 120_000 });

interface AccountJson {
  readonly id: string;
  readonly token?: string;
  readonly expires_at: string;
}

it('service accounts are made with scopes for workspaces, listed without their tokens, and revoked', async () => {
  const data = temporaryFolder();
  const run = (...args: readonly string[]) => runCommand([...args, '--data', data]);
  const json = async <Shape>(...args: readonly string[]): Promise<Shape> => {
    const { code, stdout, stderr } = await run(...args, '--json');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return JSON.parse(stdout) as Shape;
  };
  const refusal = async (...args: readonly string[]): Promise<readonly [unknown, string]> => {
    const { code, stderr } = await run('service-account', ...args);
    return [code, stderr.trim()];
  };
  const workspace = await json<{ readonly id: string }>('workspace', 'create', 'acme', '--credit', '5');
  const create = ['service-account', 'create'] as const;
  const made = await json<AccountJson>(
    ...[...create, 'chargeback', '--scopes', 'usage:read, balance:read', '--workspaces', 'acme'],
    ...['--expires', '2099-01-01'],
  );
  const { token = '', ...shown } = made;
  expect(token).toMatch(/^weir-sa-[0-9A-Za-z]{49}$/);
  expect(shown).toEqual({
    ...{ id: made.id, name: 'chargeback', prefix: token.slice(0, 12), status: 'active' },
    ...{ scopes: ['usage:read', 'balance:read'], workspaces: [workspace.id], last_used_at: null },
    ...{ created_at: expect.any(String) as string, expires_at: '2099-01-01T00:00:00.000Z' },
  });
  const everywhere = await json<AccountJson>(...create, 'all', '--scopes', 'models:read', '--all-workspaces');
  const days = (Date.parse(everywhere.expires_at) - Date.now()) / 86_400_000;
  expect(days).toBeGreaterThan(89.9);
  expect(days).toBeLessThanOrEqual(90);

  const list = (await run('service-account', 'list', '-o', 'wide')).stdout;
  expect(list).toMatch(/sa_\w+ +chargeback +active +usage:read,balance:read +acme +2099-01-01T00:00:00.000Z .* never/);
  expect(list).toMatch(/sa_\w+ +all +active +models:read +all /);
  expect(list).not.toContain(token);
  expect(await json('service-account', 'revoke', 'chargeback')).toMatchObject({ id: made.id, status: 'revoked' });
  const audit = await json<readonly object[]>('audit', '--action', 'service-account.revoke');
  expect(audit).toMatchObject([{ actor: { kind: 'command-line', name: userInfo().username }, object: made.id }]);

  expect(
    await Promise.all([
      refusal('create', 'x', '--scopes', 'usage:write', '--all-workspaces'),
      refusal('create', 'x', '--scopes', 'usage:read'),
      refusal('create', 'x', '--scopes', 'usage:read', '--all-workspaces', '--workspaces', 'acme'),
      refusal('create', 'all', '--scopes', 'usage:read', '--all-workspaces'),
      refusal('revoke', 'nobody'),
    ]),
  ).toEqual([
    [2, expect.stringContaining('"usage:write" is none of usage:read, requests:read,')],
    [2, expect.stringContaining('give either --workspaces or --all-workspaces')],
    [2, expect.stringContaining('give either --workspaces or --all-workspaces')],
    [1, expect.stringContaining('There is already a service account named "all".')],
    [1, expect.stringContaining('`weir service-account list` shows them all.')],
  ]);
});
