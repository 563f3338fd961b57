import { userInfo } from 'node:os';
import { expect, it, vi } from 'vitest';
import { runCommand } from '../../../test/support/run-command.ts';
import { sampleDatabase, temporaryFolder } from '../../../test/support/sample-database.ts';
import { sampleOutcome } from '../../../test/support/sample-outcome.ts';
import { databaseUrl } from '../../../test/support/sample-store.ts';

// Each command is a process of its own, and this machine may be busy with other tests.
vi.setConfig({ testTimeout: 120_000 });

/** The commands on accounts of one folder. */
function commandsOn(data: string) {
  const run = (...args: readonly string[]) => runCommand([...args, '--data', data]);
  return {
    run,
    json: async <Shape>(...args: readonly string[]): Promise<Shape> => {
      const { code, stdout, stderr } = await run(...args, '--json');
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      return JSON.parse(stdout) as Shape;
    },
    refusal: async (...args: readonly string[]): Promise<readonly [unknown, string]> => {
      const { code, stderr } = await run(...args);
      return [code, stderr.trim()];
    },
  };
}

const far = '2099-01-01T00:00:00.000Z';
const user = userInfo().username;

interface KeyJson {
  readonly id: string;
  readonly key?: string;
}

it('keys have a name, an expiry and models, and bad ones are refused by the name of the option', async () => {
  const { run, json, refusal } = commandsOn(temporaryFolder());
  await json('workspace', 'create', 'acme', '--credit', '5');
  const made = await json<KeyJson>(
    ...['key', 'create', '--workspace', 'acme', '--name', 'CI of team A'],
    ...['--expires', '2099-01-01', '--models', 'Qwen/*,acme/chat'],
  );
  expect(made).toMatchObject({
    key: expect.stringMatching(/^sk-weir-/) as string,
    workspace: 'acme',
    name: 'CI of team A',
    expires_at: far,
    models: ['acme/chat', 'qwen/*'],
  });
  const plain = await json<KeyJson>('key', 'create', '--workspace', 'acme');
  expect(plain).toMatchObject({ name: null, expires_at: null, models: null });
  const { key: _, ...shown } = made;
  expect(await json('key', 'list')).toMatchObject([shown, { id: plain.id }]);
  expect((await run('key', 'list', '-o', 'wide')).stdout).toMatch(
    /CI of team A .* acme\/chat,qwen\/\* +2099-01-01T00:00:00.000Z/,
  );
  const fitting = (await run('key', 'list')).stdout;
  expect(fitting).toMatch(/CI of t\S+ +active .* 2099-01-01$/m);
  expect(fitting.split('\n').filter((line) => line.length > 80)).toEqual([]);

  const updated = await json('key', 'update', made.id, '--expires', 'never', '--models', 'all', '--name', '');
  expect(updated).toEqual({ ...shown, name: null, expires_at: null, models: null });
  expect(await json('key', 'update', plain.id, '--models', 'a/b')).toMatchObject({ models: ['a/b'], name: null });

  const create = ['key', 'create', '--workspace', 'acme'] as const;
  expect(
    await Promise.all([
      refusal(...create, '--models', 'qwen'),
      refusal(...create, '--expires', 'tomorrow'),
      refusal(...create, '--expires', '2020-01-01'),
      refusal(...create, '--name', 'two\nlines'),
      refusal('key', 'update', plain.id),
      refusal('key', 'update', plain.id, '--models', ''),
    ]),
  ).toEqual([
    [2, expect.stringMatching(/'--models <patterns>' argument 'qwen' is invalid. "qwen" is neither a model/)],
    [2, expect.stringContaining("'--expires <when>' argument 'tomorrow' is invalid")],
    [1, expect.stringContaining('A key cannot expire at 2020-01-01T00:00:00.000Z: that moment has passed.')],
    [1, expect.stringContaining('The name of a key must be one line of at most 100 characters.')],
    [2, expect.stringContaining('give --name, --expires, --models, or several of them')],
    [2, expect.stringContaining("'--models <patterns>' argument '' is invalid")],
  ]);
  expect(await json('key', 'list')).toHaveLength(2);
});

it('a key is shown with what is spent of its budget', async () => {
  const { ids, location, settle } = await sampleDatabase('10');
  await settle([sampleOutcome({ ...ids, requestId: 'r1', cost: 19_900_100_000n })]);
  const weir = (...args: readonly string[]) =>
    runCommand(['key', ...args], { env: { WEIR_DATABASE_URL: databaseUrl(location) } });
  expect((await weir('budget', ids.keyId, '--budget', '0.02', '--period', 'total', '--json')).stdout).toContain(
    '"spent":"0.0199001"',
  );
  expect(JSON.parse((await weir('list', '--json')).stdout)).toMatchObject([{ id: ids.keyId, spent: '0.0199001' }]);
  expect((await weir('list')).stdout).toMatch(/ 0\.02 total /);
  expect((await weir('list', '-o', 'wide')).stdout).toMatch(/ 0\.02 in total +0\.0199001 /);
});

it('a correction needs a note and no more than there is, the books stay right, and the trail records all of it', async () => {
  const { run, json, refusal } = commandsOn(temporaryFolder());
  const workspace = await json<{ id: string }>('workspace', 'create', 'acme', '--credit', '5');
  expect(await json('workspace', 'credit', 'acme', '-2.5', '--note', 'refund of order 7')).toEqual({
    ...workspace,
    balance: '2.5',
  });
  expect(await json('workspace', 'credit', 'acme', '1', '--note', 'order 8')).toMatchObject({ balance: '3.5' });
  expect(
    await Promise.all([
      refusal('workspace', 'credit', 'acme', '-1'),
      refusal('workspace', 'credit', 'acme', '-3.6', '--note', 'x'),
      refusal('workspace', 'credit', 'acme', '-x', '--note', 'x'),
      refusal('workspace', 'credit', 'acme', '0', '--note', 'x'),
    ]),
  ).toEqual([
    [1, expect.stringContaining('needs a note with the reason. With the command: --note TEXT.')],
    [1, expect.stringContaining('A correction of -$3.6 is more than the books allow: the balance of "acme" is $3.5.')],
    [2, expect.any(String)],
    [1, expect.stringContaining('A credit must be more than 0 USD')],
  ]);
  expect(await json('ledger', 'verify')).toMatchObject({
    ok: true,
    workspaces: [{ credits: '3.5', balance: '3.5', expected: '3.5' }],
  });
  const { id, key = '' } = await json<KeyJson>('key', 'create', '--workspace', 'acme', '--name', 'CI');
  await json('key', 'suspend', id);
  await json('workspace', 'create', 'other');

  const actor = { kind: 'command-line', name: user };
  const entries = await json<readonly { readonly at: string }[]>('audit', '--workspace', 'acme');
  expect(entries).toMatchObject([
    { action: 'key.suspend', actor, object: id, before: { status: 'active' }, after: { status: 'suspended' } },
    { action: 'key.create', actor, object: id, before: null, after: { name: 'CI' } },
    { action: 'workspace.credit', after: { balance: '3.5', credit: '1', note: 'order 8' } },
    { action: 'workspace.credit', before: { balance: '5' }, after: { balance: '2.5', note: 'refund of order 7' } },
    { action: 'workspace.create', workspace: 'acme', object: workspace.id, before: null },
  ]);
  expect(key).toMatch(/^sk-weir-/);
  expect(JSON.stringify(entries)).not.toContain(key);
  expect(await json('audit', '--limit', '1')).toMatchObject([{ action: 'workspace.create', workspace: 'other' }]);
  expect(await json('audit', '--since', '2099-01-01')).toEqual([]);
  expect(await json('audit', '--action', 'workspace.create', '--workspace', 'other')).toHaveLength(1);
  expect(await json('audit', '--actor', 'a stranger')).toEqual([]);
  expect(await json('audit', '--object', 'ws_unknown')).toEqual([]);
  expect(await json('audit', '--until', entries[4]?.at ?? '')).toEqual([]);
  expect((await run('audit', '--workspace', 'acme')).stdout).toMatch(
    new RegExp(`Z +user ${user} +key.suspend +${id} +acme +status active → suspended\n`),
  );
  expect(await refusal('audit', '--workspace', 'nobody')).toEqual([
    1,
    expect.stringContaining('no workspace named "nobody"'),
  ]);
});

it('the budget of a tag is set with its thresholds, and refuses thresholds without a budget', async () => {
  const { run, json, refusal } = commandsOn(temporaryFolder());
  await json('workspace', 'create', 'acme', '--credit', '5');
  const tag = ['workspace', 'budget', 'acme', '--tag', 'team=search'];
  const budget = ['--budget', '50', '--period', 'month'];
  expect(await json(...tag, ...budget, '--thresholds', '90,10')).toMatchObject([
    { tag: 'team=search', budget: { limit: '50', period: 'month' }, spent: '0', thresholds: [10, 90] },
  ]);
  expect((await run('workspace', 'budget', 'acme')).stdout).toMatch(/ALERTS AT %\n.* 10,90\n/);
  expect(await json(...tag, ...budget, '--thresholds', 'default')).toMatchObject([{ thresholds: [50, 80, 95] }]);
  await json('workspace', 'budget', 'acme', '--tag', 'team=web', ...budget);
  await json('workspace', 'budget', 'acme', '--tag', 'team=web', '--clear');
  const budgetJson = '{"limit":"50","period":"month"}';
  const trail = (await run('audit', '--action', 'workspace.tag-budget')).stdout.trim().split('\n');
  expect(trail.slice(1).map((line) => line.replace(/^.* acme +/, ''))).toEqual([
    `tag team=web, budget ${budgetJson} → -`,
    `tag team=web, budget ${budgetJson}`,
    'tag team=search, thresholds [10,90] → default',
    `tag team=search, budget ${budgetJson}, thresholds default → [10,90]`,
  ]);
  expect(await refusal(...tag, '--thresholds', '90')).toEqual([
    2,
    expect.stringContaining('give --thresholds with --tag and --budget'),
  ]);
  expect(await refusal(...tag, ...budget, '--thresholds', '0')).toEqual([
    2,
    expect.stringContaining('at most 10 whole percentages from 1 to 100'),
  ]);
});

it('thresholds of a key and of a workspace are set, emptied and removed, and bad ones are refused', async () => {
  const { run, json, refusal } = commandsOn(temporaryFolder());
  await json('workspace', 'create', 'acme', '--credit', '5');
  const { id } = await json<KeyJson>('key', 'create', '--workspace', 'acme');
  expect(await json('key', 'thresholds', id, '95, 50,50')).toEqual({ thresholds: [50, 95] });
  expect((await run('workspace', 'thresholds', 'acme', 'none')).stdout).toBe('Alerts at no threshold.\n');
  expect((await run('workspace', 'thresholds', 'acme', 'default')).stdout).toBe(
    'Alerts at 50 %, 80 %, 95 %, the default.\n',
  );
  const [code, message] = await refusal('key', 'thresholds', id, '0,50');
  expect([code, message]).toEqual([2, expect.stringContaining('at most 10 whole percentages from 1 to 100')]);
  expect(await refusal('workspace', 'thresholds', 'other', '50')).toEqual([
    1,
    expect.stringContaining('There is no workspace named "other".'),
  ]);
  const trail = await json<{ readonly action: string; readonly before: unknown; readonly after: unknown }[]>('audit');
  expect(trail.slice(0, 3)).toMatchObject([
    { action: 'workspace.thresholds', before: { thresholds: [] }, after: { thresholds: 'default' } },
    { action: 'workspace.thresholds', before: { thresholds: 'default' }, after: { thresholds: [] } },
    { action: 'key.thresholds', before: { thresholds: 'default' }, after: { thresholds: [50, 95] } },
  ]);
});
