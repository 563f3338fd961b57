// @suite alone
/** Three times the load that the engines can take: an admitted caller must not feel it, and a refused one is told at once. */
import { expect, test } from 'vitest';
import { http1Caller } from './support/caller.ts';
import { collectsGarbage, memoryInUse } from './support/memory-in-use.ts';
import { quantile } from '../support/quantile.ts';
import { roomyKey } from '../support/roomy-key.ts';
import { spawnProgrammableEngine } from './support/spawn-programmable-engine.ts';
import { modelManifest, startWeir } from '../support/weir.ts';
import { startYardstick } from './support/yardstick.ts';
import { forFile } from '../support/for-file.ts';

/** Answers that each of two engines gives at once, and how long one takes. */
const slots = 32;
const answerMs = 500;
const carriedPerSecond = (2 * slots * 1000) / answerMs;
const offeredPerSecond = 3 * carriedPerSecond;
/** The load shedder has decided dozens of times by then, and every place has been taken thirty times. */
const seconds = 15;

const backend = (name: string, port: number): string =>
  [
    'apiVersion: weir.dev/v1alpha1',
    'kind: Backend',
    `metadata: {name: ${name}}`,
    'spec:',
    '  engine: vllm',
    `  endpoint: {host: 127.0.0.1, port: ${port}, path: /v1}`,
    `  capacity: {maxConcurrentRequests: ${slots}}`,
    '---',
    '',
  ].join('\n');

const engines = await forFile([
  await spawnProgrammableEngine({ reasoning: 'never' }),
  await spawnProgrammableEngine({ reasoning: 'never' }),
]);
const backends = engines.map(({ port }, index) => backend(`engine-${index}`, port)).join('');
const model = modelManifest('test/model', ['engine-0', 'engine-1']).replaceAll(/weight: \d+/g, 'weight: 100');
const weir = await forFile(startWeir({ env: collectsGarbage, manifests: { 'catalog.yaml': backends + model } }));
const caller = await forFile(http1Caller({ ...weir, key: await roomyKey(weir) }));

const ask = (stream: boolean) => ({
  ...{ model: 'test/model', stream },
  messages: [
    { role: 'user', content: `Say. [[demo {"words": 8, "firstTokenDelayMs": ${answerMs / 2}, "tokenDelayMs": 25}]]` },
  ],
});

interface Sent {
  readonly status: number;
  readonly ms: number;
}

async function send(stream: boolean): Promise<Sent> {
  const begun = performance.now();
  const { status } = await caller.ask(ask(stream));
  return { status, ms: performance.now() - begun };
}

/** Sends at a steady pace, whatever comes of it. */
function offer(perSecond: number, forSeconds: number): Promise<readonly Sent[]> {
  const all: Promise<Sent>[] = [];
  const begun = performance.now();
  return new Promise((resolve, reject) => {
    const timer = setInterval(() => {
      const due = Math.min(forSeconds, (performance.now() - begun) / 1000) * perSecond;
      while (all.length < due) all.push(send(all.length % 2 === 0));
      if (all.length < perSecond * forSeconds) return;
      clearInterval(timer);
      Promise.all(all).then(resolve, reject);
    }, 5);
  });
}

const percentile = (sent: readonly Sent[], share: number): number =>
  quantile(
    sent.map(({ ms }) => ms),
    share,
  );

test(`three times the load it can carry, for ${seconds} s`, { retry: 2, timeout: 90_000 }, async () => {
  // A quarter of what it can carry is no load.
  const calm = await offer(carriedPerSecond / 4, 4);
  expect(new Set(calm.map(({ status }) => status))).toEqual(new Set([200]));
  const inUseBefore = (await memoryInUse(weir)).service;

  const machine = startYardstick(`http://127.0.0.1:${engines[0]?.port}/v1/models`);
  const rush = await offer(offeredPerSecond, seconds);
  const machineP95 = quantile(await machine.stop(), 0.95);
  const served = rush.filter(({ status }) => status === 200);
  const refused = rush.filter(({ status }) => status !== 200);
  const figures = {
    unloadedP99: percentile(calm, 0.99),
    servedP99: percentile(served, 0.99),
    refusedP95: percentile(refused, 0.95),
    refusedP99: percentile(refused, 0.99),
    machineP95,
    servedPerSecond: served.length / seconds,
  };
  console.log(figures);
  expect([...new Set(refused.map(({ status }) => status))]).toEqual([503]);
  // An answer passes five processes where the yardstick passes two.
  const allowance = 5 * machineP95;
  expect(figures.servedP99).toBeLessThan(3 * figures.unloadedP99 + allowance);
  // The last hundredths are the sender's own: it shares the machine.
  expect(figures.refusedP95).toBeLessThan(100 + allowance);
  // All that could be carried was, or nearly: as many as there are places were being answered all the time.
  const answering = (figures.servedPerSecond * percentile(served, 0.5)) / 1000;
  expect(answering).toBeGreaterThan(0.7 * 2 * slots);

  await weir.settled();
  const after = await offer(carriedPerSecond / 4, 2);
  expect(new Set(after.map(({ status }) => status))).toEqual(new Set([200]));
  // The rush fills the heap with garbage and grows it, and V8 gives little of that back: what counts is what is in use.
  const grownMiB = ((await memoryInUse(weir)).service - inUseBefore) / (1024 * 1024);
  console.log(`memory in use has grown by ${grownMiB.toFixed(1)} MiB`);
  expect(grownMiB).toBeLessThan(16);
});
