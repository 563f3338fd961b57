// @suite long
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { runFolder } from '../../src/control/envoy/config/run-folder.ts';
import { createEnvoyAdmin } from '../../src/control/envoy/runtime/admin.ts';
import { type Caller, http1Caller, type OpenAnswer, type OpenRequest } from './support/caller.ts';
import { metricIn } from '../support/metric-in.ts';
import { type Postgres, startPostgres } from '../support/postgres.ts';
import { runWeir } from '../support/run-weir.ts';
import { type SpawnedEngine, spawnProgrammableEngine } from './support/spawn-programmable-engine.ts';
import { allGone, newDataFolder, removeStarts, start, type Started } from '../support/start.ts';
import { startValkey, type TestValkey } from '../support/valkey.ts';
import { backendManifest, modelManifest } from '../support/weir.ts';

// `weir start --replicas 3`: three services on one PostgreSQL and one Valkey, behind one Envoy.

let server: Postgres;
let valkey: TestValkey;
let engine: SpawnedEngine;
let manifests: string;
let env: Readonly<Record<string, string>>;
let gateway: Started;
let caller: Caller;
let opsUrls: readonly string[];

beforeAll(async () => {
  [server, valkey] = await Promise.all([startPostgres(), startValkey()]);
  engine = await spawnProgrammableEngine({ cachedTokens: 0, reasoning: 'never' });
  manifests = newDataFolder();
  writeFileSync(
    join(manifests, 'catalog.yaml'),
    backendManifest('backend-of-test', engine) + modelManifest('test/model', ['backend-of-test']),
  );
  env = { WEIR_DATABASE_URL: await server.database('accounts'), WEIR_VALKEY_URL: valkey.url };
  gateway = await start(['--manifests', manifests, '--replicas', '3'], { env });
  opsUrls = [...gateway.stdout().matchAll(/^ops: +(\S+)$/gm)].map(([, url = '']) => url);
  caller = http1Caller({
    origin: new URL(gateway.baseUrl).origin,
    key: await roomyKey('usual'),
    watch: () => undefined,
  });
});
afterAll(async () => {
  await caller.close();
  await removeStarts();
  await engine.close();
  await Promise.all([server.close(), valkey.close()]);
});

async function weir(...args: readonly string[]): Promise<unknown> {
  const { code, stdout, stderr } = await runWeir([...args, '--json'], { env });
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout);
}

const roomy = ['--rate', '100000', '--burst', '100000'];

async function newKey(workspace: string, ofWorkspace: readonly string[], ofKey: readonly string[]): Promise<string> {
  await weir('workspace', 'create', workspace, ...ofWorkspace);
  return ((await weir('key', 'create', '--workspace', workspace, ...ofKey)) as { readonly key: string }).key;
}

const roomyKey = (workspace: string): Promise<string> =>
  newKey(workspace, ['--credit', '1000', '--max-in-flight', '1000'], roomy);

const chat = (words: number, tokenDelayMs: number, stream = true) => ({
  ...{ model: 'test/model', stream, reasoning_effort: 'none' },
  messages: [{ role: 'user', content: `Go on. [[demo ${JSON.stringify({ words, tokenDelayMs })}]]` }],
});
const quick = chat(1, 0, false);
const long = chat(4_000, 50);
const as = (key: string) => ({ headers: { authorization: `Bearer ${key}` } });
const times = <Value>(count: number, make: (index: number) => Value): Value[] =>
  Array.from({ length: count }, (_, at) => make(at));
const countOf = (all: readonly number[], status: number): number => all.filter((each) => each === status).length;

const metrics = (name: string): Promise<readonly number[]> =>
  Promise.all(opsUrls.map(async (url) => metricIn(await (await fetch(url)).text(), name, {})));
const inFlight = (): Promise<readonly number[]> => metrics('weir_requests_in_flight');
const pidOf = (service: number): number => gateway.processes()[`service ${service}`] ?? 0;

/** Decisions that services took alone so far, because Valkey's answer came too late for this machine. */
const late = async (): Promise<number> =>
  (await metrics('weir_limits_late_total')).reduce((sum, count) => sum + count, 0);

const opened: OpenRequest[] = [];

async function openStreams(count: number, body: object = long): Promise<readonly OpenAnswer[]> {
  const requests = times(count, () => caller.open(body));
  opened.push(...requests);
  return Promise.all(
    requests.map(async (request) => {
      const answer = await request.answer;
      expect(answer.status).toBe(200);
      await answer.until('"content":');
      return answer;
    }),
  );
}

/** Waits until one of Envoy's gauges of the services has this value. */
async function untilEnvoySays(gauge: string, value: number): Promise<void> {
  const admin = createEnvoyAdmin(runFolder(join(gateway.data, 'run')));
  const name = `cluster.weir-service.${gauge}`;
  await expect.poll(async () => (await admin.stats([name])).get(name)).toBe(value);
  admin.close();
}

/** All services share the limits, and Envoy has a connection to each: before that its requests wait, and are not counted as open. */
async function untilAllServe(): Promise<void> {
  await expect.poll(() => metrics('weir_limits_shared').catch(() => [])).toEqual([1, 1, 1]);
  const haveAnswered = async (): Promise<boolean> => {
    await Promise.all(times(9, () => caller.ask(chat(1, 50, false))));
    return (await metrics('weir_requests_total')).every((count) => count > 0);
  };
  await untilEnvoySays('membership_healthy', 3);
  await expect.poll(haveAnswered).toBe(true);
  await untilEnvoySays('upstream_rq_active', 0);
}
async function leaveAll(): Promise<void> {
  for (const request of opened.splice(0)) request.leave();
  if (gateway.child.exitCode === null) await expect.poll(inFlight).toEqual([0, 0, 0]);
}
beforeEach(untilAllServe);
afterEach(leaveAll);

interface Try {
  readonly caller: number;
  readonly sentMs: number;
  readonly status: number;
}

/** Asks over and over from several callers until it is stopped; resolves to every try. */
function askOnAndOn(callers = 6): { readonly tries: readonly Try[]; readonly stop: () => Promise<readonly Try[]> } {
  const tries: Try[] = [];
  let isOver = false;
  const asking = times(callers, async (index) => {
    while (!isOver) {
      const sentMs = performance.now();
      tries.push({
        caller: index,
        sentMs,
        status: await caller.ask(quick).then(
          ({ status }) => status,
          () => 0,
        ),
      });
      await pause(5);
    }
  });
  return {
    tries,
    stop: async () => {
      isOver = true;
      await Promise.all(asking);
      return tries;
    },
  };
}

test('each service has a socket, a port and a log of its own, and requests go to the one with the fewest', async () => {
  expect(Object.keys(gateway.processes()).toSorted()).toEqual([
    ...['Envoy', 'service 1', 'service 2', 'service 3', 'weir start'],
  ]);
  expect(new Set(opsUrls).size).toBe(3);
  await openStreams(30);
  expect(await inFlight()).toEqual([10, 10, 10]);
});

test('a service that is killed costs its own requests, and none that comes after', async () => {
  const streams = await openStreams(18);
  expect(await inFlight()).toEqual([6, 6, 6]);
  const asking = askOnAndOn();
  await expect.poll(() => asking.tries.length).toBeGreaterThan(30);
  const pid = pidOf(2);
  process.kill(pid, 'SIGKILL');
  // On a busy machine a killed process takes requests until it is its turn to end, and the supervisor hears of it late.
  await allGone({ service: pid });
  const goneMs = performance.now();
  await gateway.said(/Service 2 is back after/);
  const sentAfter = (): number => asking.tries.filter(({ sentMs }) => sentMs > goneMs).length;
  await expect.poll(sentAfter).toBeGreaterThan(20);
  const tries = await asking.stop();
  // Those that were on their way to it when it was killed: one of each caller at most.
  const failed = tries.filter(({ status }) => status !== 200);
  expect(new Set(failed.map(({ caller: index }) => index)).size).toBe(failed.length);

  const ends = await Promise.all(streams.map(({ ended }) => Promise.race([ended, Promise.resolve('runs')])));
  expect(ends.filter((end) => end === 'cut')).toHaveLength(6);
  expect(ends.filter((end) => end === 'runs')).toHaveLength(12);
  // The one that is back has fewer than the others, so it gets the next ones.
  await untilEnvoySays('membership_healthy', 3);
  await untilEnvoySays('upstream_rq_active', 12);
  await openStreams(6);
  expect(await inFlight()).toEqual([6, 6, 6]);
  console.log(`${failed.length} of ${tries.length} failed, ${sentAfter()} were sent after its end`);
});

test('rate, concurrency and balance hold for all of them together', async () => {
  await expect.poll(() => metrics('weir_replicas')).toEqual([3, 3, 3]);
  const paced = await newKey('paced', ['--credit', '10'], ['--rate', '1', '--burst', '30']);
  let before = await late();
  const startedMs = performance.now();
  const rated = await Promise.all(times(90, async () => (await caller.ask(quick, as(paced))).status));
  const tookS = (performance.now() - startedMs) / 1000;
  expect(countOf(rated, 200) + countOf(rated, 429)).toBe(90);
  expect(countOf(rated, 200)).toBeGreaterThanOrEqual(30);
  expect(countOf(rated, 200)).toBeLessThanOrEqual(31 + Math.ceil(tookS) + (await late()) - before);

  const narrow = await newKey('narrow', ['--credit', '10', '--max-in-flight', '7'], roomy);
  before = await late();
  const requests = times(30, () => caller.open(long, as(narrow)));
  opened.push(...requests);
  const placed = (await Promise.all(requests.map(({ answer }) => answer))).map(({ status }) => status);
  expect(countOf(placed, 200) + countOf(placed, 429)).toBe(30);
  expect(countOf(placed, 200)).toBeGreaterThanOrEqual(7);
  expect(countOf(placed, 200)).toBeLessThanOrEqual(7 + (await late()) - before);

  const poor = await newKey('poor', ['--credit', '0.000001'], roomy);
  const refused = async (): Promise<number> =>
    countOf(await Promise.all(times(12, async () => (await caller.ask(quick, as(poor))).status)), 402);
  await expect.poll(refused).toBe(12);
  expect(await weir('ledger', 'verify')).toMatchObject({ ok: true });
});

test('a catalog that changes again and again fails no request of any of them', async () => {
  const asking = askOnAndOn();
  for (const backend of ['first-of-test', 'second-of-test', 'third-of-test', 'fourth-of-test', 'backend-of-test']) {
    writeFileSync(
      join(manifests, 'catalog.yaml'),
      backendManifest(backend, engine) + modelManifest('test/model', [backend]),
    );
    const before = asking.tries.length;
    await expect.poll(() => asking.tries.length).toBeGreaterThan(before + 100);
  }
  expect((await asking.stop()).filter(({ status }) => status !== 200)).toEqual([]);
});

test('a changed catalog reaches all of them, and a request stays on the backend that is gone', async () => {
  const streams = await openStreams(6, chat(100, 50));
  writeFileSync(
    join(manifests, 'catalog.yaml'),
    backendManifest('other-of-test', engine) + modelManifest('test/other', ['other-of-test']),
  );
  const other = { ...quick, model: 'test/other' };
  const served = async (): Promise<number> =>
    countOf(await Promise.all(times(9, async () => (await caller.ask(other)).status)), 200);
  await expect.poll(served).toBe(9);
  expect(await served()).toBe(9);
  for (const answer of streams) expect(await answer.ended).toBe('clean');
});

test('Ctrl-C lets the open streams of all of them end, and leaves nothing behind', async () => {
  const streams = await openStreams(6, { ...chat(60, 50), model: 'test/other' });
  const pids = gateway.processes();
  gateway.child.kill('SIGINT');
  await gateway.said(/Finishing 6 open request/);
  for (const answer of streams) expect(await answer.ended).toBe('clean');
  expect((await gateway.ended).code).toBe(0);
  await allGone(pids, 0);
});
