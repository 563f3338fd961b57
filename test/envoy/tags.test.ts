/** Tags of requests through the whole gateway: they reach the ledger, usage is summed by them, and their budgets answer 402. */
import { request } from 'undici';
import { expect, test } from 'vitest';
import { parseUsd } from '../../src/core/money.ts';
import { startProgrammableEngine } from '../programmable-engine/engine.ts';
import { runWeir } from '../support/run-weir.ts';
import { backendManifest, canary, modelManifest, startWeir } from '../support/weir.ts';
import { untilHolds } from '../support/until-holds.ts';
import { forFile } from '../support/for-file.ts';

const engine = await forFile(startProgrammableEngine({ behaviour: { reasoning: 'never', words: 3 } }));
const catalog = backendManifest('engine', engine) + modelManifest('test/model', ['engine']);
const weir = await forFile(startWeir({ engines: [engine], manifests: { 'catalog.yaml': catalog } }));

async function ask(headers: Readonly<Record<string, string>>) {
  const body = { model: 'test/model', messages: [{ role: 'user', content: canary }], max_tokens: 5 };
  const answer = await weir.chat(body, headers);
  const text = await answer.text();
  return { status: answer.status, text };
}

async function run<Result>(...args: readonly string[]): Promise<Result> {
  const { code, stdout, stderr } = await runWeir([...args, '--json', '--data', weir.data]);
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout) as Result;
}

/** A workspace with a key of its own, as headers. */
async function newCaller(name: string): Promise<Readonly<Record<string, string>>> {
  await run('workspace', 'create', name, '--credit', '10');
  const { key } = await run<{ readonly key: string }>('key', 'create', '--workspace', name);
  return { authorization: `Bearer ${key}` };
}

type Lines = readonly { readonly tag: string; readonly cost: string; readonly requests: number }[];

test('tags are in the ledger, and usage by the values of one adds up to the workspace', async () => {
  const caller = await newCaller('tagged');
  const tags = ['team=search,app=crawler', 'team=search', 'team=ads', undefined];
  for (const each of tags) {
    const { status } = await ask(each === undefined ? caller : { ...caller, 'x-weir-tags': each });
    expect(status).toBe(200);
  }
  const requests = await run<readonly { readonly tags: string | null }[]>(
    'usage',
    '--requests',
    '--workspace',
    'tagged',
  );
  expect(requests.map((request) => request.tags).toReversed()).toEqual([
    ...['app=crawler,team=search', 'team=search', 'team=ads', null],
  ]);
  const [all] = await run<Lines>('usage', '--by', 'workspace', '--workspace', 'tagged');
  const byTeam = await run<Lines>('usage', '--by', 'tag', '--tag', 'team', '--workspace', 'tagged');
  expect(byTeam.map(({ tag, requests: count }) => [tag, count])).toEqual([
    ['', 1],
    ['ads', 1],
    ['search', 2],
  ]);
  const units = (lines: Lines): bigint => lines.reduce((sum, { cost }) => sum + (parseUsd(cost) ?? 0n), 0n);
  expect(units(byTeam)).toBe(units(all === undefined ? [] : [all]));
  expect(units(byTeam) > 0n).toBe(true);
  // No engine sees them, and neither does it see other headers with the gateway's prefix.
  const seen = engine.requests().map(({ headers }) => Object.keys(headers).filter((name) => name.startsWith('x-weir')));
  expect(seen.length).toBeGreaterThanOrEqual(tags.length);
  expect(seen.flat()).toEqual([]);
});

test('the lines of several headers are one list', async () => {
  const caller = await newCaller('lines');
  const { statusCode, body } = await request(`${weir.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { ...caller, 'content-type': 'application/json', 'x-weir-tags': ['team=search', 'app=crawler'] },
    body: JSON.stringify({ model: 'test/model', messages: [{ role: 'user', content: canary }], max_tokens: 5 }),
  });
  await body.dump();
  expect(statusCode).toBe(200);
  const [row] = await run<readonly { readonly tags: string | null }[]>('usage', '--requests', '--workspace', 'lines');
  expect(row?.tags).toBe('app=crawler,team=search');
});

test('a wrong tag is refused with the name of the header', async () => {
  const { status, text } = await ask({ 'x-weir-tags': 'Team=search' });
  expect(status).toBe(400);
  expect(text).toContain('x-weir-tags: expected up to 4 tags');
});

test('the budget of a tag answers 402 to requests with the tag when it is used up, and to no others', async () => {
  const caller = await newCaller('budgeted');
  const set = (usd: string) =>
    run<readonly object[]>(
      'workspace',
      'budget',
      'budgeted',
      '--tag',
      'team=search',
      '--budget',
      usd,
      '--period',
      'month',
    );
  const searching = { ...caller, 'x-weir-tags': 'app=crawler,team=search' };
  await set('1');
  expect((await ask(searching)).status).toBe(200);
  const listed = () => run<readonly { readonly spent: string }[]>('workspace', 'budget', 'budgeted');
  const spent = (await listed())[0]?.spent ?? '0';
  expect(parseUsd(spent)).toBeGreaterThan(0n);
  expect(await set(spent)).toEqual([
    { tag: 'team=search', budget: { limit: spent, period: 'month' }, spent, thresholds: [50, 80, 95] },
  ]);

  // Replicas read a change within a second.
  const refused = await untilHolds(async () => {
    const answer = await ask(searching);
    expect(answer.status).toBe(402);
    return answer;
  }, 50);
  expect(refused.text).toContain('the budget of the tag team=search is used up for its current period');
  expect((await ask(caller)).status).toBe(200);
  expect((await ask({ ...caller, 'x-weir-tags': 'team=ads' })).status).toBe(200);

  expect(await run('workspace', 'budget', 'budgeted', '--tag', 'team=search', '--clear')).toEqual([]);
  await expect.poll(async () => (await ask(searching)).status, { interval: 50 }).toBe(200);
});
