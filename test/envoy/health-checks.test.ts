import { afterAll, beforeEach, expect, test } from 'vitest';
import { type EngineCall, type FakeEngine, startFakeEngine } from '../fake-engine/fake-engine.ts';
import { runWeir } from '../support/run-weir.ts';
import { backendManifest, endpointsManifest, modelManifest, startWeir } from '../support/weir.ts';
import { liveCatalog } from './support/live-catalog.ts';
import { forFile } from '../support/for-file.ts';

/** What an engine answers to its health check and to chats. */
interface Mood {
  health: number;
  /** Before `health`, one for each check. */
  readonly next: number[];
  chat: number;
  checks: number;
  chats: number;
}
const names = ['checked', 'locked', 'first', 'second', 'broken', 'plain'] as const;
type Name = (typeof names)[number];

const moods = new Map<Name, Mood>();
const engines = new Map<Name, FakeEngine>();

const answer = {
  choices: [{ index: 0, message: { role: 'assistant', content: 'yes' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 },
};

function reply({ request, response }: EngineCall, mood: Mood): void {
  const isCheck = request.url === '/health';
  if (isCheck) mood.checks += 1;
  else mood.chats += 1;
  const status = isCheck ? (mood.next.shift() ?? mood.health) : mood.chat;
  const body = status === 200 ? answer : { error: { message: 'no' } };
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function moodOf(name: Name): Mood {
  const mood = moods.get(name) ?? { health: 200, next: [], chat: 200, checks: 0, chats: 0 };
  moods.set(name, mood);
  return mood;
}
const engine = (name: Name): FakeEngine => {
  const found = engines.get(name);
  if (found === undefined) throw new Error(`there is no engine ${name}`);
  return found;
};

afterAll(async () => {
  for (const one of engines.values()) await one.close();
});
for (const name of names) engines.set(name, await startFakeEngine((call) => reply(call, moodOf(name))));
moodOf('locked').health = 401;
const check = ', healthCheck: {path: /health, intervalSeconds: 1}}';
const checked = (manifest: string): string => manifest.replace(/\}(?=\n---)/, check);
const weir = await forFile(
  startWeir({
    manifests: {
      'catalog.yaml': [
        checked(backendManifest('checked', engine('checked'))),
        checked(backendManifest('locked', engine('locked'))),
        checked(endpointsManifest('pair', [engine('first'), engine('second')])),
        backendManifest('broken', engine('broken')),
        backendManifest('plain', engine('plain')),
        modelManifest('test/checked', ['checked']),
        modelManifest('test/locked', ['locked']),
        modelManifest('test/either', ['locked', 'plain']),
        modelManifest('test/pair', ['pair']),
        modelManifest('test/broken', ['broken']),
      ].join(''),
    },
  }),
);
beforeEach(() => {
  for (const name of names) Object.assign(moodOf(name), { health: name === 'locked' ? 401 : 200, chat: 200 });
});

const polling = { interval: 200 };

async function listed(): Promise<readonly string[]> {
  const response = await weir.fetch(`${weir.baseUrl}/models`);
  const { data } = (await response.json()) as { readonly data: readonly { readonly id: string }[] };
  return data.map(({ id }) => id);
}

/** A model as the list, the gauges and the conditions have it, which must not contradict each other. */
async function told(id: string) {
  const [model] = (await liveCatalog(weir)).models.filter((one) => one.id === id);
  const isTrue = (type: string) => model?.conditions.find((one) => one.type === type)?.status === 'True';
  return {
    list: (await listed()).includes(id),
    gauge: (await weir.metric('weir_model_listed', { model: id })) === 1,
    serving: (await weir.metric('weir_route_serving', { model: id })) > 0,
    servable: isTrue('Servable'),
    listed: isTrue('Listed'),
  };
}
const all = (value: boolean) => ({ list: value, gauge: value, serving: value, servable: value, listed: value });

async function healthyOf(name: string): Promise<string> {
  const [found] = (await liveCatalog(weir)).backends.filter((one) => one.name === name);
  const condition = found?.conditions.find(({ type }) => type === 'Healthy');
  return `${condition?.status} ${condition?.reason}: ${condition?.message}`;
}

/** Looks again and again, until an engine has had so many more health checks. The list may be asked for once a second and address. */
async function throughChecks(mood: Mood, count: number, look: () => Promise<void>): Promise<void> {
  const until = mood.checks + count;
  while (mood.checks < until) {
    await look();
    const seen = mood.checks;
    await expect.poll(() => mood.checks, polling).toBeGreaterThan(seen);
  }
}

let questions = 0;
async function ask(model: string, content = `Question ${(questions += 1)}`): Promise<Response> {
  const response = await weir.chat({ model, messages: [{ role: 'user', content }] });
  await response.clone().text();
  return response;
}

test('a model whose only backend fails its health check leaves the list, and all that tell of it agree', async () => {
  await expect.poll(() => told('test/checked'), polling).toEqual(all(true));
  moodOf('checked').health = 503;
  await expect.poll(() => told('test/checked'), polling).toEqual(all(false));
  await expect
    .poll(() => healthyOf('checked'), polling)
    .toBe(
      `False HealthCheckFailed: spec.healthCheck: no endpoint passes the health check; 127.0.0.1:${engine('checked').port}: HTTP 503`,
    );
  // Nothing is asked meanwhile, and time alone does not list it again.
  moodOf('checked').health = 200;
  await expect.poll(() => told('test/checked'), polling).toEqual(all(true));
});

test('one health check that fails takes no model from the list', async () => {
  await expect.poll(listed, polling).toContain('test/checked');
  const mood = moodOf('checked');
  mood.next.push(503);
  await throughChecks(mood, 4, async () => expect(await listed()).toContain('test/checked'));
});

test('a model is not listed where one endpoint fails its health check and requests fail on the other', async () => {
  await expect.poll(() => told('test/pair'), polling).toEqual(all(true));
  const first = moodOf('first');
  first.health = 503;
  const unhealthy = () => weir.metric('weir_endpoints', { backend: 'pair', state: 'unhealthy' });
  await expect.poll(unhealthy, polling).toBe(1);
  // A check a second, and a look of the service a second: two looks decide.
  await throughChecks(first, 4, async () => expect(await told('test/pair')).toEqual(all(true)));
  moodOf('second').chat = 500;
  await expect
    .poll(async () => {
      expect([502, 503]).toContain((await ask('test/pair')).status);
      return told('test/pair');
    }, polling)
    .toEqual(all(false));
  // And stays so while nothing is asked: an endpoint that Envoy does not use says nothing for its route.
  await throughChecks(first, 3, async () => expect(await told('test/pair')).toEqual(all(false)));
});

test('a request that finds no healthy endpoint is served by another route, and its story says why', async () => {
  await expect.poll(() => told('test/locked'), polling).toEqual(all(false));
  await expect.poll(() => healthyOf('locked'), polling).toContain('HTTP 401');
  const served = await ask('test/either');
  expect(served.status).toBe(200);
  await weir.settled();
  const { stdout } = await runWeir(['explain', served.headers.get('x-request-id') ?? '', '--data', weir.data]);
  expect(stdout).toMatch(/failed at .*it passes no health check/);
});

test('28 identical requests that fail are told of their Backend, and take its route from nobody', async () => {
  expect(await healthyOf('broken')).toBe('True NothingFailed: no health check is declared');
  moodOf('broken').chat = 500;
  for (let count = 0; count < 28; count += 1) expect((await ask('test/broken', 'the same')).status).toBe(502);
  await expect
    .poll(() => healthyOf('broken'), polling)
    .toBe(
      'False LastRequestsFailed: at least the last 10 requests failed: it reports an internal error (HTTP 500); it says “no”',
    );
  expect(await told('test/broken')).toEqual(all(true));
  // The route is in for other prompts: the engine is asked at once.
  const before = moodOf('broken').chats;
  moodOf('broken').chat = 200;
  expect([(await ask('test/broken')).status, moodOf('broken').chats]).toEqual([200, before + 1]);
  await expect.poll(() => healthyOf('broken'), polling).toBe('True NothingFailed: no health check is declared');
});

test('twin: as many requests that differ take the route out, since no prompt can be at fault for all of them', async () => {
  moodOf('broken').chat = 500;
  for (let count = 0; count < 28; count += 1) await ask('test/broken');
  // The list is made once a second at most.
  await expect.poll(() => told('test/broken'), polling).toEqual(all(false));
});
