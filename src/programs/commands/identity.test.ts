import { expect, it, vi } from 'vitest';
import { runCommand } from '../../../test/support/run-command.ts';
import { temporaryFolder } from '../../../test/support/sample-database.ts';

// Each command is a process of its own, and this machine may be busy with other tests.
vi.setConfig({ testTimeout: 120_000 });

it('identities are made, shown, changed, suspended and revoked, and bad ones are refused by their field', async () => {
  const data = temporaryFolder();
  const run = (...args: readonly string[]) => runCommand([...args, '--data', data]);
  const json = async (...args: readonly string[]): Promise<Readonly<Record<string, unknown>>> => {
    const { code, stdout, stderr } = await run('identity', ...args, '--json');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return JSON.parse(stdout) as Readonly<Record<string, unknown>>;
  };
  await run('workspace', 'create', 'acme');
  const made = await json(
    ...['create', 'search', '--issuer', 'cluster', '--audience', 'weir', '--workspace', 'acme', '--each', 'subject'],
    ...['--match', 'claims.a == "x,y"', '--match', 'claims.b', '--tag', 'app=claims.sub == "a" ? "a" : "b"', '--bound'],
    ...['--budget', '2.5', '--period', 'week', '--rate', '7', '--burst', '9', '--models', 'Qwen/*'],
    ...['--tokens-per-minute', '5000', '--not-enforced', 'rate'],
  );
  const shown = {
    ...{ id: made['id'], name: 'search', status: 'active', issuer: 'cluster', audience: 'weir' },
    ...{ match: ['claims.a == "x,y"', 'claims.b'], workspace: 'acme', workspace_claim: null, each: 'subject' },
    ...{ tags: { app: 'claims.sub == "a" ? "a" : "b"' }, bound: true, budget: { limit: '2.5', period: 'week' } },
    ...{ rate: 7, burst: 9, tokens_per_minute: 5_000, not_enforced: ['rate'], models: ['qwen/*'] },
  };
  expect(made).toEqual(shown);
  expect(await json('list')).toEqual([shown]);
  expect(await json('show', String(made['id']))).toEqual(shown);
  expect((await run('identity', 'show', 'search')).stdout).toMatch(/^match +claims\.b$/m);
  expect((await run('identity', 'list')).stdout).toMatch(
    /^search +active +acme +cluster +weir +subject +2\.5 per week$/m,
  );

  const changed = await json(
    ...['change', 'search', '--workspace-claim', 'claims.team', '--no-tags', '--no-bound', '--clear-budget'],
    ...[
      '--models',
      'all',
      '--rate',
      '8',
      '--match',
      'true',
      '--each',
      'identity',
      '--tokens-per-minute',
      'none',
      '--not-enforced',
      'none',
    ],
  );
  expect(changed).toEqual({
    ...{ ...shown, workspace: null, workspace_claim: 'claims.team', tags: {}, bound: false, budget: null },
    ...{ models: null, tokens_per_minute: null, not_enforced: null, rate: 8, match: ['true'], each: 'identity' },
  });
  expect(await json('change', 'search', '--audience', 'other')).toEqual({ ...changed, audience: 'other' });
  for (const [command, status] of [
    ['suspend', 'suspended'],
    ['resume', 'active'],
    ['revoke', 'revoked'],
  ] as const) {
    expect(await json(command, 'search')).toMatchObject({ status });
  }
  expect(await json('list')).toEqual([]);

  const create = ['create', 'x', '--issuer', 'cluster', '--audience', 'weir', '--match', 'true'] as const;
  const refusals = await Promise.all(
    [
      ['create', 'x', '--issuer', 'cluster', '--audience', 'weir', '--workspace', 'acme'],
      [...create],
      [...create, '--workspace', 'acme', '--workspace-claim', 'claims.a'],
      [...create, '--workspace', 'nowhere'],
      [...create, '--workspace', 'acme', '--match', 'claims.'],
      [...create, '--workspace', 'acme', '--each', 'pod'],
      [...create, '--workspace', 'acme', '--tag', 'app'],
      [...create, '--workspace', 'acme', '--budget', '5'],
      ['change', 'search'],
      ['change', 'search', '--clear-budget', '--budget', '5', '--period', 'day'],
      ['show', 'search'],
    ].map(async (args) => {
      const { code, stderr } = await run('identity', ...args);
      return [code, stderr.trim()] as const;
    }),
  );
  expect(refusals.map(([code]) => code === 0)).not.toContain(true);
  expect(refusals.map(([, text]) => text)).toEqual([
    expect.stringContaining('give --issuer, --audience and --match'),
    ...Array.from(
      { length: 2 },
      () => expect.stringContaining('give either --workspace or --workspace-claim') as string,
    ),
    expect.stringContaining('There is no workspace named "nowhere".'),
    expect.stringContaining('match: "claims."'),
    expect.stringContaining('It must be one of identity, subject.'),
    expect.stringContaining('It must be NAME=CEL'),
    expect.stringContaining('--budget and --period go together'),
    expect.stringContaining('give something to change'),
    expect.stringContaining('give either --budget or --clear-budget'),
    expect.stringContaining('There is no identity "search".'),
  ]);
});
