import { expect, it, vi } from 'vitest';
import { runCommand } from '../../../test/support/run-command.ts';
import { temporaryFolder } from '../../../test/support/sample-database.ts';

// Each command is a process of its own, and this machine may be busy with other tests.
vi.setConfig({ testTimeout: 120_000 });

it('users are invited by a link that is shown once, listed without it, and removed', async () => {
  const data = temporaryFolder();
  const run = (...args: readonly string[]) => runCommand([...args, '--data', data]);
  const json = async <Shape>(...args: readonly string[]): Promise<Shape> => {
    const { code, stdout, stderr } = await run(...args, '--json');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return JSON.parse(stdout) as Shape;
  };
  await json('workspace', 'create', 'acme', '--credit', '5');
  const invite = ['user', 'invite', 'Ada@example.com'] as const;
  const { stdout } = await run(...invite, '--workspace', 'acme', '--workspace-role', 'owner');
  expect(stdout).toMatch(/^Give this link to ada@example\.com\..*\n\n {2}http:\/\/HOST:PORT\/#invitation=[\w-]{32}\n$/);
  const token = /invitation=(\S+)/.exec(stdout)?.[1] ?? '';
  const again = await json<{ readonly token: string; readonly invited_until: string }>(...invite, '--role', 'admin');
  expect(again).toMatchObject({ address: 'ada@example.com', role: 'admin', has_password: false });
  const days = (Date.parse(again.invited_until) - Date.now()) / 86_400_000;
  expect(days).toBeGreaterThan(6.9);
  expect(days).toBeLessThanOrEqual(7);
  const list = (await run('user', 'list')).stdout;
  expect(list).toMatch(/ada@example\.com +admin +invited until .* never/);
  for (const one of [token, again.token]) expect(list).not.toContain(one);
  const audit = await json<readonly { readonly action: string }[]>('audit');
  expect(audit.map(({ action }) => action)).toEqual([
    'user.invite',
    'user.invite',
    'member.invite',
    'workspace.create',
  ]);

  const refused = async (...args: readonly string[]) => {
    const { code, stderr } = await run('user', ...args);
    return [code, stderr.trim()];
  };
  expect(
    await Promise.all([
      refused('invite', 'nobody'),
      refused('invite', 'eve@example.com', '--expires', '2099-01-01'),
      refused('remove', 'eve@example.com'),
    ]),
  ).toEqual([
    [1, expect.stringContaining('expected an e-mail address')],
    [1, expect.stringContaining('within 30 days')],
    [1, expect.stringContaining('There is no local user "eve@example.com".')],
  ]);
  expect((await run('user', 'remove', 'ada@example.com')).stdout).toBe('ada@example.com cannot sign in any more.\n');
  expect(await json('user', 'list')).toEqual([]);
});
