/** Nothing is left to serve with: callers are told at once, and are served again as soon as there is. */
import { afterEach, expect, test } from 'vitest';
import { type ProgrammableEngine, startProgrammableEngine } from '../programmable-engine/engine.ts';
import { http1Caller } from './support/caller.ts';
import { type BlackHole, openBlackHole } from './support/chaos/black-hole.ts';
import { lowPort } from './support/chaos/low-port.ts';
import { expectNothingLeft } from './support/chaos/nothing-left.ts';
import { putTogether } from './support/put-together.ts';
import { roomyKey } from '../support/roomy-key.ts';
import { untilQuick } from '../support/until-quick.ts';
import { backendManifest, modelManifest, startWeir } from '../support/weir.ts';
import { forFile } from '../support/for-file.ts';

const models = ['refused', 'failing', 'swallowed', 'stalled'] as const;
type ModelName = (typeof models)[number];
type Ports = readonly [number, number];

/** Whoever serves or swallows now; a test ends what it started. */
const running = new Set<ProgrammableEngine | BlackHole>();

const pairs = await Promise.all(models.map(async (name) => [name, [await lowPort(), await lowPort()]] as const));
const ports = Object.fromEntries(pairs) as unknown as Readonly<Record<ModelName, Ports>>;
const manifests = models.flatMap((name) => {
  const backends = ports[name].map((port, index) => [`${name}-${index}`, { port }] as const);
  return [
    ...backends.map(([backend, at]) => backendManifest(backend, at)),
    modelManifest(
      `test/${name}`,
      backends.map(([backend]) => backend),
    ).replace('weight: 1000', 'weight: 1'),
  ];
});
const weir = await forFile(
  startWeir({ env: { WEIR_IDLE_SECONDS: '2' }, manifests: { 'catalog.yaml': manifests.join('') } }),
);
const caller = await forFile(http1Caller({ ...weir, key: await roomyKey(weir) }));
afterEach(async () => {
  await Promise.all([...running].map(stop));
});

async function startEngines(name: ModelName): Promise<readonly ProgrammableEngine[]> {
  const engines = ports[name].map((port, index) =>
    startProgrammableEngine({ name: `engine-${name}-${index}`, port, behaviour: { reasoning: 'never' } }),
  );
  for (const engine of await Promise.all(engines)) running.add(engine);
  return Promise.all(engines);
}
async function stop(one: ProgrammableEngine | BlackHole): Promise<void> {
  running.delete(one);
  await one.close();
}

interface Told {
  readonly status: number;
  readonly ms: number;
}

/** Asks once; what comes is a whole answer or the error envelope of docs/reference/api.md §7.1. */
async function ask(name: ModelName, stream: boolean): Promise<Told> {
  const begun = performance.now();
  const messages = [{ role: 'user', content: 'Is anybody there? [[words=3]]' }];
  const usage = stream ? { stream_options: { include_usage: true } } : {};
  const answer = await caller.ask({ model: `test/${name}`, messages, stream, ...usage });
  const ms = performance.now() - begun;
  expect(await answer.ended).toBe('clean');
  if (answer.status === 200) {
    const text = answer.text();
    const { choices } = stream ? putTogether(text) : (JSON.parse(text) as ReturnType<typeof putTogether>);
    expect(choices[0]?.finish_reason).toBe('stop');
  } else {
    expect(answer.headers['content-type']).toBe('application/json');
    const error = { type: 'service_error', message: expect.any(String) };
    expect(JSON.parse(answer.text())).toEqual({ error });
  }
  return { status: answer.status, ms };
}

/** So many at once, every other one for a stream. */
const askMany = (name: ModelName, count: number): Promise<readonly Told[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => ask(name, index % 2 === 0)));
const askForStreams = (name: ModelName, count: number): Promise<readonly Told[]> =>
  Promise.all(Array.from({ length: count }, () => ask(name, true)));

/** Asks again and again until somebody answers, and tells how long that took. */
async function untilServed(name: ModelName): Promise<number> {
  const begun = performance.now();
  await expect.poll(async () => (await ask(name, true)).status, { interval: 50 }).toBe(200);
  return performance.now() - begun;
}

const attemptsOn = async (name: ModelName): Promise<number> => {
  const each = ports[name].map((_, index) =>
    weir.metric('weir_attempts_total', { model: `test/${name}`, backend: `${name}-${index}` }),
  );
  return (await Promise.all(each)).reduce((sum, count) => sum + count, 0);
};

const told = (answers: readonly Told[]): string => {
  const statuses = [...new Set(answers.map(({ status }) => status))].toSorted((a, b) => a - b);
  return `${statuses.join(' and ')} in at most ${Math.round(Math.max(...answers.map(({ ms }) => ms)))} ms`;
};

function expectRefusals(answers: readonly Told[]): void {
  for (const { status } of answers) expect([502, 503]).toContain(status);
}

/** Refusals that wait for nobody. */
async function expectAtOnce(name: ModelName): Promise<readonly Told[]> {
  const answers = await untilQuick({ boundMs: 1000, run: () => askMany(name, 40) });
  expectRefusals(answers);
  return answers;
}

/** After an outage all is as before: nothing fails, both engines have their share, nothing is left over. */
async function expectWell(name: ModelName, engines: readonly ProgrammableEngine[]): Promise<void> {
  await expect
    .poll(
      async () => {
        const answers = await askMany(name, 10);
        expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
        return engines.every((engine) => engine.requests().length > 1);
      },
      { interval: 50 },
    )
    .toBe(true);
  await expectNothingLeft(weir, engines);
}

test('both engines are gone: 502 or 503 at once, from the first request on; they come back and serve', async () => {
  const first = await askMany('refused', 10);
  expectRefusals(first);
  const later = await expectAtOnce('refused');
  const engines = await startEngines('refused');
  const backMs = await untilServed('refused');
  console.log(
    `refused: first ${told(first)}, later ${told(later)}; served ${Math.round(backMs)} ms after they were back`,
  );
  await expectWell('refused', engines);
});

test('engines that end in the middle of the traffic and come back, twice', async () => {
  let engines = await startEngines('refused');
  for (let round = 0; round < 2; round += 1) {
    await untilServed('refused');
    await Promise.all(engines.map(stop));
    await expectAtOnce('refused');
    engines = await startEngines('refused');
  }
  await untilServed('refused');
  await expectWell('refused', engines);
});

test('both engines answer nothing but errors: 502 or 503 at once; they recover and serve', async () => {
  const engines = await startEngines('failing');
  for (const engine of engines) engine.set({ status: 500, errorBody: 'html' });
  expectRefusals(await askMany('failing', 10));
  const answers = await expectAtOnce('failing');
  for (const engine of engines) engine.reset();
  const backMs = await untilServed('failing');
  console.log(`failing: ${told(answers)}; served ${Math.round(backMs)} ms after they were well`);
  await expectWell('failing', engines);
});

/**
 * A silent backend says nothing that could be told at once. The first requests wait as long as it takes to be sure, on one
 * route and, from the hedge on, on the other: the idle limit, two seconds here, or the five seconds in which a connection has
 * to be made, whichever is shorter. Once their failures have opened the circuits, only the probes wait; all others are told
 * at once. For streams: a probe that is to be answered in one piece waits ten times as long.
 */
async function expectAtOnceButProbes(name: ModelName): Promise<string> {
  const first = await askForStreams(name, 12);
  expectRefusals(first);
  const before = await attemptsOn(name);
  const answers = [...(await askForStreams(name, 20)), ...(await askForStreams(name, 20))];
  const probes = (await attemptsOn(name)) - before;
  expectRefusals(answers);
  // An answer without an attempt has waited for nobody. On a busy machine the requests come one after the other, and a circuit may be
  // open to a second probe before the last of them.
  expect(probes).toBeLessThanOrEqual(2 * 2 * 2);
  return `${name}: first ${told(first)}, then ${answers.length} ${told(answers)}, ${probes} probes`;
}

test('both backends are silent: once that is known, 503 at once; they come back and serve', async () => {
  const silent: readonly ModelName[] = ['swallowed', 'stalled'];
  const holes = await Promise.all(ports.swallowed.map((port) => openBlackHole(port)));
  for (const hole of holes) running.add(hole);
  const stalled = await startEngines('stalled');
  for (const engine of stalled) engine.set({ fault: 'stall', at: 'before-headers' });
  const said = await Promise.all(silent.map(expectAtOnceButProbes));
  await Promise.all(holes.map(stop));
  const swallowed = await startEngines('swallowed');
  for (const engine of stalled) engine.reset();
  const back = await Promise.all(silent.map(untilServed));
  for (const [index, what] of said.entries()) console.log(`${what}; served after ${Math.round(back[index] ?? 0)} ms`);
  await expectWell('swallowed', swallowed);
  await expectWell('stalled', stalled);
});
