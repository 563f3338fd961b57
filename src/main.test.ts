// @suite long
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { runCommand } from '../test/support/run-command.ts';
import { runWeir } from '../test/support/run-weir.ts';
import { temporaryFolder } from '../test/support/sample-database.ts';
import { sampleOutcome } from '../test/support/sample-outcome.ts';
import { storeAt } from '../test/support/sample-store.ts';
import { hashKey, looksLikeKey } from './books/accounts/key-text.ts';
import { openDatabase } from './books/databases/open-database.ts';

/** What the tests read of an answer's object; the rest is compared as a whole. */
interface Row {
  readonly id: string;
  readonly key: string;
  readonly name: string;
}

/** A folder to run commands in: `json` runs one that succeeds and reads its answer, `refusal` one that does not. */
function folderWithCommands() {
  const cwd = temporaryFolder();
  const run = (...args: readonly string[]) => runCommand(args, { cwd });
  return {
    cwd,
    run,
    json: async <Shape = Row>(...args: readonly string[]): Promise<Shape> => {
      const { code, stdout, stderr } = await run(...args, '--json');
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      return JSON.parse(stdout) as Shape;
    },
    refusal: async (...args: readonly string[]) => {
      const { code, stdout, stderr } = await run(...args);
      expect(stdout).toBe('');
      return { code, message: stderr.trim() };
    },
  };
}

// Each command is a process of its own, and this machine may be busy with other tests.
vi.setConfig({ testTimeout: 60_000 });

describe('weir workspace', () => {
  it('creates, credits, suspends, resumes and lists, always in the one JSON form', async () => {
    const { json } = folderWithCommands();
    const created = await json('workspace', 'create', 'acme', '--credit', '25', '--max-in-flight', '8');
    expect(created).toEqual({ id: expect.stringMatching(/^ws_/), name: 'acme', status: 'active', balance: '25' });
    const credited = { ...created, balance: '25.000000000001' };
    expect(await json('workspace', 'credit', 'acme', '0.000000000001')).toEqual(credited);
    expect(await json('workspace', 'suspend', created.id)).toEqual({ ...credited, status: 'suspended' });
    expect(await json('workspace', 'resume', 'acme')).toEqual(credited);
    expect(await json('workspace', 'list')).toEqual([credited]);
  });

  it('makes the data folder in the current one, for its owner alone', async () => {
    const { cwd, run } = folderWithCommands();
    expect((await run('workspace', 'create', 'acme')).code).toBe(0);
    expect(statSync(join(cwd, '.weir')).mode & 0o777).toBe(0o700);
    expect(statSync(join(cwd, '.weir', 'weir.db')).mode & 0o777).toBe(0o600);
  });

  it('does it once when several do it at the same moment on no database at all', async () => {
    const { cwd, json } = folderWithCommands();
    const ended = await Promise.all(
      ['a', 'b', 'c', 'a'].map((name) => runWeir(['workspace', 'create', name], { cwd })),
    );
    expect(ended.map(({ code }) => Number(code)).toSorted((one, other) => one - other)).toEqual([0, 0, 0, 1]);
    expect((await json<Row[]>('workspace', 'list')).map(({ name }) => name)).toEqual(['a', 'b', 'c']);
  });
});

describe('weir key', () => {
  it('creates a key, shows it once, and keeps its hash', async () => {
    const { cwd, json, run } = folderWithCommands();
    await json('workspace', 'create', 'acme');
    const limits = ['--budget', '5', '--period', 'week', '--rate', '7', '--burst', '9'];
    const { key, ...created } = await json('key', 'create', '--workspace', 'acme', ...limits);
    expect(looksLikeKey(key)).toBe(true);
    expect(created).toEqual({
      id: expect.stringMatching(/^key_/),
      workspace: 'acme',
      workspace_id: expect.stringMatching(/^ws_/),
      prefix: key.slice(0, 12),
      name: null,
      status: 'active',
      budget: { limit: '5', period: 'week' },
      rate: 7,
      burst: 9,
      tokens_per_minute: null,
      not_enforced: null,
      expires_at: null,
      models: null,
      spent: '0',
      created_at: expect.stringMatching(/^\d{4}-/),
      last_used_at: null,
    });
    expect(await json('key', 'list')).toEqual([created]);
    expect((await run('key', 'list')).stdout).not.toContain(key);

    const { queries, close } = await openDatabase(
      { kind: 'sqlite', file: join(cwd, '.weir', 'weir.db') },
      { missing: 'refuse', user: 'operator' },
    );
    onTestFinished(close);
    expect(await queries.selectFrom('keys').select('hash').execute()).toEqual([{ hash: hashKey(key) }]);
  });

  it('takes the default limits and tells a reader how to use the key', async () => {
    const { json, run } = folderWithCommands();
    await json('workspace', 'create', 'acme');
    expect(await json('key', 'create', '--workspace', 'acme')).toMatchObject({ budget: null, rate: 100, burst: 200 });
    const { stdout } = await run('key', 'create', '--workspace', 'acme');
    expect(stdout).toMatch(/shown this once/);
    expect(stdout).toMatch(/OPENAI_API_KEY=sk-weir-[0-9A-Za-z]{49}\n/);
  });

  it('suspends, resumes, limits and revokes for good', async () => {
    const { json, refusal } = folderWithCommands();
    await json('workspace', 'create', 'acme');
    const { id } = await json('key', 'create', '--workspace', 'acme');
    expect(await json('key', 'suspend', id)).toMatchObject({ id, status: 'suspended' });
    expect(await json('key', 'resume', id)).toMatchObject({ id, status: 'active' });
    expect(await json('key', 'budget', id, '--budget', '0.5', '--period', 'day')).toMatchObject({
      id,
      status: 'active',
      budget: { limit: '0.5', period: 'day' },
    });
    expect(await json('key', 'budget', id, '--clear')).toMatchObject({ id, budget: null });
    expect(await json('key', 'limits', id, '--rate', '500')).toMatchObject({ id, rate: 500, burst: 200 });
    expect(await json('key', 'limits', id, '--burst', '9')).toMatchObject({ id, rate: 500, burst: 9 });
    const tokens = async (text: string): Promise<unknown> => json('key', 'limits', id, '--tokens-per-minute', text);
    expect(await tokens('60000')).toMatchObject({ id, burst: 9, tokens_per_minute: 60_000 });
    expect(await json('key', 'limits', id, '--rate', '501')).toMatchObject({ tokens_per_minute: 60_000 });
    expect(await tokens('none')).toMatchObject({ id, rate: 501, burst: 9, tokens_per_minute: null });
    const dry = async (text: string): Promise<unknown> => json('key', 'limits', id, '--not-enforced', text);
    expect(await dry('tokens,rate')).toMatchObject({ id, not_enforced: ['rate', 'tokens'] });
    expect(await dry('none')).toMatchObject({ id, not_enforced: null });
    expect(await json('key', 'revoke', id)).toMatchObject({ id, status: 'revoked' });
    expect(await refusal('key', 'resume', id)).toEqual({ code: 1, message: expect.stringContaining('that is final') });
  });
});

describe('weir usage and ledger', () => {
  it('report what a running service has settled, while it runs', async () => {
    const { cwd, json, run } = folderWithCommands();
    const file = join(cwd, '.weir', 'weir.db');
    const { id: workspaceId } = await json('workspace', 'create', 'acme', '--credit', '1');
    const { id: keyId } = await json('key', 'create', '--workspace', 'acme', '--name', 'CI of team A');
    const store = await storeAt({ kind: 'sqlite', file });
    const ids = { workspaceId, keyId };
    await store.settle(sampleOutcome({ ...ids, requestId: 'a', cost: 250_000_000_001n }));
    const {
      firstTokenMs: _,
      routeId: __,
      ...early
    } = sampleOutcome({ ...ids, requestId: 'b', modelId: 'x/y', kind: 'cancelled' });
    await store.settle({
      ...early,
      startedAt: Date.UTC(2026, 6, 2),
      usage: { promptTokens: 1, completionTokens: 0 },
      cost: 1n,
    });

    const line = { workspace: 'acme', key: keyId, key_name: 'CI of team A', requests: 1 };
    const [first, second] = await json<Row[]>('usage');
    expect(first).toEqual({
      ...line,
      model: 'qwen/qwen3-8b',
      day: '2026-07-01',
      prompt_tokens: 120,
      completion_tokens: 30,
      cached_tokens: 10,
      reasoning_tokens: 5,
      web_searches: 0,
      cost: '0.250000000001',
    });
    expect(second).toMatchObject({ ...line, model: 'x/y', day: '2026-07-02', cost: '0.000000000001' });
    expect(await json('usage', '--by', 'workspace')).toMatchObject([
      { workspace: 'acme', requests: 2, cost: '0.250000000002' },
    ]);
    expect(await json('usage', '--model', 'X/Y', '--by', 'day')).toMatchObject([{ day: '2026-07-02' }]);
    expect(await json('usage', '--until', '2026-07-02', '--by', 'model')).toMatchObject([{ model: 'qwen/qwen3-8b' }]);

    const rows = await json<Row[]>('usage', '--requests', '--workspace', 'acme', '--key', keyId);
    expect(rows.map(({ id }) => id)).toEqual(['b', 'a']);
    expect(rows[0]).toMatchObject({ outcome: 'cancelled', route: null, cached_tokens: null, first_token_ms: null });
    expect(await json('usage', '--requests', '--limit', '1')).toHaveLength(1);

    expect(await json('ledger', 'verify')).toMatchObject({
      ok: true,
      workspaces: [
        { name: 'acme', ok: true, requests: 2, credits: '1', costs: '0.250000000002', balance: '0.749999999998' },
      ],
    });
    expect(await json('key', 'list')).toMatchObject([{ last_used_at: '2026-07-02T00:00:00.000Z' }]);
    expect((await run('usage', '--by', 'workspace,day', '--csv')).stdout.split('\r\n')).toEqual([
      'workspace,day,requests,prompt_tokens,completion_tokens,cached_tokens,reasoning_tokens,web_searches,cost',
      'acme,2026-07-01,1,120,30,10,5,0,0.250000000001',
      'acme,2026-07-02,1,1,0,0,0,0,0.000000000001\n',
    ]);
    expect((await run('usage', '--by', 'key', '--csv')).stdout).toMatch(
      new RegExp(`^key,key_name,requests,.*\\r\\n${keyId},CI of team A,2,`),
    );
    const table = (await run('usage')).stdout.split('\n');
    expect([table.filter((row) => row.length > 80), table[1]]).toEqual([[], expect.stringContaining('CI of')]);
    expect((await run('usage', '--requests', '--csv')).stdout).toMatch(/^id,.*\r\nb,.*,false,engine,,0.000000000001,/);
    expect((await run('usage')).stdout).toContain('0.250000000001');
    expect((await run('usage', '--requests')).stdout).toContain('cancelled');
  });

  it('verify ends with 1 and names the workspace when a balance does not agree', async () => {
    const { cwd, json, run } = folderWithCommands();
    await json('workspace', 'create', 'honest', '--credit', '1');
    await json('workspace', 'create', 'cooked', '--credit', '1');
    const { queries, close } = await openDatabase(
      { kind: 'sqlite', file: join(cwd, '.weir', 'weir.db') },
      { missing: 'refuse', user: 'operator' },
    );
    onTestFinished(close);
    await queries.updateTable('workspaces').set({ balance: 5n }).where('name', '=', 'cooked').execute();
    const { id } = await json('key', 'create', '--workspace', 'honest');
    await queries.insertInto('spending').values({ key_id: id, day: 0n, amount: 3n, last_used_at: 0n }).execute();
    const { code, stdout } = await run('ledger', 'verify');
    expect(code).toBe(1);
    expect(stdout).toContain('cooked');
    expect(stdout).toMatch(new RegExp(`${id} +1970-01-01 +0.000000000003 +0`));
    expect(stdout).not.toContain('honest');
    const report = await run('ledger', 'verify', '--json');
    expect([report.code, (JSON.parse(report.stdout) as { ok: boolean }).ok]).toEqual([1, false]);
  });
});

describe('weir serve', () => {
  it('ends with code 1 and the reason when it cannot start, whatever it has opened by then', async () => {
    const cwd = temporaryFolder();
    const key = join(cwd, 'no-such-key');
    const env = { WEIR_OPS_PORT: '0', WEIR_WEB_SEARCH: `brave:${key}` };
    const { code, stderr } = await runWeir(['serve'], { cwd, env });
    expect([code, stderr]).toEqual([1, expect.stringContaining(key)]);
  });
});

describe('the command line', () => {
  it('refuses what cannot be done in one sentence, with exit code 1', async () => {
    const { cwd, json, refusal } = folderWithCommands();
    const missing = `weir: There is no database at ${join(cwd, '.weir', 'weir.db')}.`;
    expect(await refusal('workspace', 'list')).toEqual({ code: 1, message: expect.stringContaining(missing) });
    expect(existsSync(join(cwd, '.weir'))).toBe(false);

    await json('workspace', 'create', 'acme', '--credit', '9000000');
    for (const [args, sentence] of [
      [['workspace', 'create', 'acme'], 'There is already a workspace named "acme".'],
      [
        ['workspace', 'credit', 'acme', '0.01'],
        'The balance of "acme" would be $9000000.01; a workspace holds at most $9000000.',
      ],
      [['key', 'create', '--workspace', 'nobody'], 'There is no workspace named "nobody".'],
      [['key', 'revoke', 'key_1'], 'There is no key with the id "key_1".'],
    ] as const) {
      const { code, message } = await refusal(...args);
      expect({ code, message }).toEqual({ code: 1, message: expect.stringContaining(sentence) });
      expect(message.split('\n')).toHaveLength(1);
    }
  });

  it('refuses what it does not understand with exit code 2', async () => {
    const { refusal } = folderWithCommands();
    for (const [args, sentence] of [
      [['frobnicate'], "unknown command 'frobnicate'"],
      [['workspace', 'lst'], "unknown command 'lst' (Did you mean list?)"],
      [['workspace', 'create'], "missing required argument 'name'"],
      [['workspace', 'create', 'a', '--credit', 'much'], 'an amount in USD'],
      [['workspace', 'credit', 'a', '5x'], 'an amount in USD'],
      [['workspace', 'credit', 'a', '-0.0000000000001'], 'an amount in USD'],
      [['key', 'create'], "required option '--workspace <workspace>' not specified"],
      [['key', 'create', '--workspace', 'a', '--budget', '5'], '--budget and --period go together'],
      [['key', 'create', '--workspace', 'a', '--budget', '5', '--period', 'year'], 'one of day, week, month, total'],
      [['key', 'create', '--workspace', 'a', '--rate', '0'], 'a whole number from 1'],
      [
        ['key', 'budget', 'key_1', '--clear', '--budget', '5', '--period', 'day'],
        'either --budget with --period, or --clear',
      ],
      [['key', 'budget', 'key_1'], 'either --budget with --period, or --clear'],
      [['key', 'limits', 'key_1'], 'give --rate, --burst, --tokens-per-minute, --not-enforced, or several of them'],
      [['key', 'limits', 'key_1', '--rate', '0'], 'a whole number from 1'],
      [
        ['workspace', 'limits', 'a'],
        'give --max-in-flight, --credit-limit, --labels, --tokens-per-minute, --tag-tokens-per-minute, --not-enforced, or several of them',
      ],
      [['usage', '--by', 'colour'], 'any of hour, day, week, model, key, workspace, surface'],
      [['usage', '--since', 'yesterday'], 'a UTC day'],
    ] as const) {
      expect(await refusal(...args)).toEqual({ code: 2, message: expect.stringContaining(sentence) });
    }
  });

  it('puts refusals in JSON where JSON was asked for', async () => {
    const { refusal } = folderWithCommands();
    const { code, message } = await refusal('workspace', 'list', '--json');
    const error = expect.stringContaining('There is no database') as string;
    expect([code, JSON.parse(message)]).toEqual([1, { error, code: 'database_missing' }]);
    const usage = await refusal('workspace', 'create', '--json');
    expect([usage.code, JSON.parse(usage.message)]).toEqual([
      2,
      { error: "missing required argument 'name'", code: 'command_malformed' },
    ]);
  });

  it('finds the database by --data, else by WEIR_DATABASE_URL', async () => {
    const cwd = temporaryFolder();
    const env = { WEIR_DATABASE_URL: 'sqlite:by-url.db' };
    expect((await runWeir(['workspace', 'create', 'a'], { cwd, env })).code).toBe(0);
    expect((await runWeir(['workspace', 'create', 'b', '--data', 'folder'], { cwd, env })).code).toBe(0);
    expect([existsSync(join(cwd, 'by-url.db')), existsSync(join(cwd, 'folder', 'weir.db'))]).toEqual([true, true]);
    const refused = await runWeir(['workspace', 'list'], {
      cwd,
      env: { WEIR_DATABASE_URL: 'postgres://u:secret@127.0.0.1:1/d' },
    });
    const sentence = 'Cannot open the PostgreSQL database d at 127.0.0.1:1: connect ECONNREFUSED';
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining(sentence) });
    expect(refused.stderr).not.toContain('secret');
  });

  it('helps with everything it can do', async () => {
    const { run } = folderWithCommands();
    const { code, stdout } = await run('--help');
    expect(code).toBe(0);
    for (const name of ['start', 'serve', 'workspace', 'key', 'usage', 'ledger', 'backup', 'catalog'])
      expect(stdout).toContain(`  ${name} `);
    for (const args of [
      ['workspace', 'create'],
      ['key', 'budget'],
      ['usage'],
      ['ledger', 'verify'],
      ['catalog', 'check'],
    ]) {
      const help = await run(...args, '--help');
      expect(help).toMatchObject({ code: 0, stderr: '' });
      expect(help.stdout).toContain('--json');
    }
    expect((await run('--version')).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});
