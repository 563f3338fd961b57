// @suite long
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { formatUsd } from '../../src/core/money.ts';
import { type Caller, http1Caller, type OpenAnswer } from './support/caller.ts';
import { picoUsd } from './support/cost.ts';
import { type Postgres, startPostgres } from '../support/postgres.ts';
import { type Replicas, startReplicas } from './support/replicas.ts';
import { runWeir } from '../support/run-weir.ts';
import { type SpawnedEngine, spawnProgrammableEngine } from './support/spawn-programmable-engine.ts';
import { startValkey, type TestValkey } from '../support/valkey.ts';
import { backendManifest, type LedgerRow, modelManifest } from '../support/weir.ts';

// Three service processes on one PostgreSQL and one Valkey, behind one Envoy that hands them requests by turns.

let server: Postgres;
let valkey: TestValkey;
let engine: SpawnedEngine;
let replicas: Replicas;
let caller: Caller;
let env: Readonly<Record<string, string>>;

beforeAll(async () => {
  [server, valkey] = await Promise.all([startPostgres(), startValkey()]);
  engine = await spawnProgrammableEngine({ cachedTokens: 0, reasoning: 'never' });
  env = { WEIR_DATABASE_URL: await server.database('accounts'), WEIR_VALKEY_URL: valkey.url };
  const manifests = backendManifest('backend-of-test', engine) + modelManifest('test/model', ['backend-of-test']);
  replicas = await startReplicas(3, { manifests, env });
  caller = http1Caller({ origin: replicas.origin, key: '', watch: () => undefined });
});
beforeEach(() => untilShared(1));
afterAll(async () => {
  await caller.close();
  await replicas.close();
  await engine.close();
  await Promise.all([server.close(), valkey.close()]);
});

async function untilShared(value: 0 | 1): Promise<void> {
  const standing = (): Promise<readonly number[]> =>
    Promise.all(replicas.all.map((replica) => replica.metric('weir_limits_shared')));
  await expect.poll(standing).toEqual([value, value, value]);
  if (value === 0) return;
  const known = (): Promise<readonly number[]> =>
    Promise.all(replicas.all.map((replica) => replica.metric('weir_replicas')));
  await expect.poll(known).toEqual([3, 3, 3]);
}

async function weir(...args: readonly string[]): Promise<unknown> {
  const { code, stdout, stderr } = await runWeir([...args, '--json'], { env });
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout);
}

interface Account {
  readonly workspace: string;
  readonly id: string;
  readonly key: string;
}

async function newAccount(
  workspace: string,
  more: { readonly workspace?: readonly string[]; readonly key?: readonly string[] } = {},
): Promise<Account> {
  await weir('workspace', 'create', workspace, ...(more.workspace ?? ['--credit', '10']));
  const made = (await weir('key', 'create', '--workspace', workspace, ...(more.key ?? []))) as Account;
  return { workspace, id: made.id, key: made.key };
}

const roomy = ['--rate', '100000', '--burst', '100000'];
let callers = 0;

/** Of an address of its own: what fails to authenticate here is not to shut anybody out. */
const as = ({ key }: Account): Readonly<Record<string, string>> => {
  callers += 1;
  return { authorization: `Bearer ${key}`, 'x-forwarded-for': `10.1.${callers >> 8}.${callers & 255}` };
};

const quick = {
  ...{ model: 'test/model', reasoning_effort: 'none' },
  messages: [{ role: 'user', content: 'Quick. [[demo {"words": 1}]]' }],
};
const slow = {
  ...{ model: 'test/model', stream: true, reasoning_effort: 'none' },
  messages: [{ role: 'user', content: 'Slow. [[demo {"words": 2000, "tokenDelayMs": 30}]]' }],
};

const ask = async (account: Account, body: object): Promise<OpenAnswer> => caller.ask(body, { headers: as(account) });
const statuses = (answers: readonly OpenAnswer[]): readonly number[] => answers.map(({ status }) => status);
const countOf = (all: readonly number[], status: number): number => all.filter((each) => each === status).length;

/** Decisions that replicas took alone so far, because Valkey's answer came too late for this machine. */
async function late(): Promise<number> {
  const counts = await Promise.all(replicas.all.map((replica) => replica.metric('weir_limits_late_total')));
  return counts.reduce((sum, count) => sum + count, 0);
}

test('of 64 requests at once on a budget for one, one passes and one more at most', async () => {
  const rich = await newAccount('measured', { key: roomy });
  // Nearly all of its cost is known when it is dispatched.
  const content = `Measure. ${'water '.repeat(2_000)} [[demo {"words": 6, "tokenDelayMs": 100}]]`;
  const body = { model: 'test/model', reasoning_effort: 'none', messages: [{ role: 'user', content }] };
  const { usage } = JSON.parse((await ask(rich, body)).text()) as { readonly usage: { readonly cost: number } };
  const cost = picoUsd(formatUsd(BigInt(Math.round(usage.cost * 1e12))));

  const poor = await newAccount('budgeted', {
    key: [...roomy, '--budget', formatUsd(cost), '--period', 'total'],
  });
  const before = await late();
  const all = statuses(await Promise.all(Array.from({ length: 64 }, () => ask(poor, body))));
  const passed = countOf(all, 200);
  const alone = (await late()) - before;
  expect(passed + countOf(all, 402)).toBe(64);
  expect(passed).toBeGreaterThanOrEqual(1);
  expect(passed).toBeLessThanOrEqual(2 + alone);
  // It stays used up, whichever replica is asked.
  expect(new Set(statuses(await Promise.all(Array.from({ length: 9 }, () => ask(poor, body)))))).toEqual(
    new Set([402]),
  );
  const rows = (await weir('usage', '--requests', '--key', poor.id, '--limit', '1000')) as readonly LedgerRow[];
  expect(rows).toHaveLength(passed);
  const spent = rows.reduce((sum, row) => sum + picoUsd(row['cost']), 0n);
  expect(spent).toBe(cost * BigInt(passed));
  expect(await weir('ledger', 'verify')).toMatchObject({ ok: true });
  console.log(`${passed} of 64 passed on a budget for one; ${alone} decisions were taken without Valkey`);
});

test('what is reserved for an answer while it runs stands against the budget on every replica', async () => {
  const account = await newAccount('running', { key: [...roomy, '--budget', '0.0001', '--period', 'day'] });
  const open = caller.open(slow, { headers: as(account) });
  const answer = await open.answer;
  expect(answer.status).toBe(200);
  // The output expected of it uses it up, on whichever replica the answer runs; nothing is settled yet.
  await expect
    .poll(async () => new Set(statuses(await Promise.all(Array.from({ length: 6 }, () => ask(account, quick))))), {
      interval: 200,
    })
    .toEqual(new Set([402]));
  open.leave();
  await answer.ended;
});

test('a key’s rate holds for the sum of the replicas', async () => {
  const account = await newAccount('paced', { key: ['--rate', '2', '--burst', '30'] });
  const [before, startedMs] = [await late(), performance.now()];
  const all = statuses(await Promise.all(Array.from({ length: 90 }, () => ask(account, quick))));
  const tookMs = performance.now() - startedMs;
  const passed = countOf(all, 200);
  expect(passed + countOf(all, 429)).toBe(90);
  expect(passed).toBeGreaterThanOrEqual(30);
  expect(passed).toBeLessThanOrEqual(31 + Math.ceil((tookMs / 1000) * 2) + ((await late()) - before));
});

test('places hold for the sum of the replicas, and those of a replica that is killed are free again', async () => {
  const account = await newAccount('narrow', { workspace: ['--credit', '10', '--max-in-flight', '6'], key: roomy });
  const before = await late();
  const many = Array.from({ length: 30 }, () => caller.open(slow, { headers: as(account) }));
  const answers = await Promise.all(many.map(({ answer }) => answer));
  const running = answers.filter(({ status }) => status === 200);
  expect(running.length).toBeGreaterThanOrEqual(6);
  expect(running.length).toBeLessThanOrEqual(6 + (await late()) - before);
  expect(countOf(statuses(answers), 429)).toBe(30 - running.length);

  const inFlight = await Promise.all(replicas.all.map((replica) => replica.metric('weir_requests_in_flight')));
  const victim = replicas.all[inFlight.indexOf(Math.max(...inFlight))];
  let cut = 0;
  for (const { ended } of running) void ended.then((how) => (cut += how === 'cut' ? 1 : 0));
  await victim?.kill();
  const lost = Math.max(...inFlight);
  await expect.poll(() => cut).toBe(lost);

  // Its lease ends, and as many find a place; who comes to its socket meanwhile gets 503 and comes back.
  const later: ReturnType<Caller['open']>[] = [];
  const found = async (): Promise<number> => {
    const open = caller.open(slow, { headers: as(account) });
    const { status } = await open.answer;
    if (status === 200) later.push(open);
    else open.leave();
    return later.length;
  };
  await expect.poll(found, { interval: 50 }).toBe(lost);
  const more = statuses(await Promise.all(Array.from({ length: 9 }, () => ask(account, quick))));
  expect(countOf(more, 200)).toBe(0);
  expect(countOf(more, 429)).toBeGreaterThan(0);
  for (const open of [...many, ...later]) open.leave();
  await Promise.all(running.map(({ ended }) => ended));
  await victim?.start();
});

/** Asks three at once, so that each replica is asked, over and over until it is stopped. */
function askOnAndOn(account: Account): { readonly statuses: readonly number[]; readonly stop: () => Promise<void> } {
  const found: number[] = [];
  let isOver = false;
  const asking = (async () => {
    while (!isOver) {
      const three = Array.from({ length: 3 }, () => ask(account, quick));
      found.push(...statuses(await Promise.all(three)));
      await pause(25);
    }
  })();
  return {
    statuses: found,
    stop: async () => {
      isOver = true;
      await asking;
    },
  };
}

test('a change of an account comes into force on every replica, and stays in force', async () => {
  const account = await newAccount('changing', { workspace: [], key: roomy });
  expect((await ask(account, quick)).status).toBe(402);
  const changes: readonly (readonly [number, string, readonly string[]])[] = [
    [200, '', ['workspace', 'credit', account.workspace, '10']],
    [403, 'suspended', ['workspace', 'suspend', account.workspace]],
    [200, '', ['workspace', 'resume', account.workspace]],
    [403, 'suspended', ['key', 'suspend', account.id]],
    [200, '', ['key', 'resume', account.id]],
    [402, 'insufficient_funds', ['key', 'budget', account.id, '--budget', '0.000000000001', '--period', 'total']],
    [200, '', ['key', 'budget', account.id, '--clear']],
    [401, 'unauthenticated', ['key', 'revoke', account.id]],
  ];
  for (const [status, code, command] of changes) {
    const refusals = (): Promise<readonly number[]> =>
      Promise.all(replicas.all.map((replica) => replica.metric('weir_requests_total', { outcome: 'refused', code })));
    const before = await refusals();
    const asking = askOnAndOn(account);
    await weir(...command);
    await expect
      .poll(() => new Set(asking.statuses.slice(-18)), { message: command.join(' ') })
      .toEqual(new Set([status]));
    // Each replica has read it once none of many answers is the old one, and takes nothing back.
    if (code !== '') {
      await expect
        .poll(async () => (await refusals()).every((count, index) => count > (before[index] ?? 0)))
        .toBe(true);
    }
    const settled = asking.statuses.length;
    await expect.poll(() => asking.statuses.length).toBeGreaterThan(settled + 18);
    await asking.stop();
    expect(new Set(asking.statuses.slice(settled)), command.join(' ')).toEqual(new Set([status]));
  }
}, 120_000);

test('without Valkey each replica keeps its share and says so, and they come back by themselves', async () => {
  const account = await newAccount('apart', { key: ['--rate', '1', '--burst', '30'] });
  await valkey.kill();
  await untilShared(0);
  const startedMs = performance.now();
  const all = statuses(await Promise.all(Array.from({ length: 120 }, () => ask(account, quick))));
  const tookMs = performance.now() - startedMs;
  const passed = countOf(all, 200);
  expect(passed + countOf(all, 429)).toBe(120);
  // A third of the burst each, and of what comes back meanwhile.
  expect(passed).toBeGreaterThanOrEqual(30);
  expect(passed).toBeLessThanOrEqual(33 + Math.ceil(tookMs / 1000));
  expect(replicas.all.map(({ log }) => log().includes('Valkey is away'))).toEqual([true, true, true]);

  await valkey.start();
  await untilShared(1);
  const other = await newAccount('together', { key: ['--rate', '1', '--burst', '30'] });
  const before = await late();
  const again = countOf(statuses(await Promise.all(Array.from({ length: 90 }, () => ask(other, quick)))), 200);
  expect(again).toBeGreaterThanOrEqual(30);
  expect(again).toBeLessThanOrEqual(40 + (await late()) - before);
});
