/** One endpoint of eight that is no good: no request fails for it, hardly one waits for it, and it is back soon when it is well. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { BehaviourInput } from '../../examples/demo-engine/behaviour.ts';
import { type DemoEngine, startDemoEngine } from '../../examples/demo-engine/engine.ts';
import { quantile } from '../support/quantile.ts';
import { roomyKey } from '../support/roomy-key.ts';
import { endpointsManifest, modelManifest, startWeir, type Weir } from '../support/weir.ts';
import { type Caller, http2Caller } from './support/caller.ts';
import { type LoadRun, runLoad } from './support/chaos/load-run.ts';
import { expectNothingLeft } from './support/chaos/nothing-left.ts';

const usual = { reasoning: 'never', words: 4, deltaTokens: 8, firstTokenDelayMs: 150, tokenDelayMs: 5 } as const;
const run = { requests: 1000, atOnce: 16 };
/** The bound is a promise; a machine that others use too may need another try to show it. */
const tries = 3;

/** Breaks an engine; the result makes it well again, at the same address. */
type Break = (engine: DemoEngine) => Promise<() => Promise<DemoEngine>>;

const misbehaving =
  (fault: BehaviourInput): Break =>
  async (engine) => {
    engine.set({ ...usual, ...fault });
    return async () => {
      engine.set(usual);
      return engine;
    };
  };

const faults: readonly (readonly [name: string, breaks: Break])[] = [
  ['answers 500', misbehaving({ status: 500 })],
  ['stalls', misbehaving({ fault: 'stall', at: 'before-headers' })],
  ['is twenty times slower', misbehaving({ firstTokenDelayMs: 3000, tokenDelayMs: 100 })],
  ['resets connections', misbehaving({ fault: 'reset', at: 'before-headers' })],
  ['breaks off in mid-stream', misbehaving({ fault: 'reset', at: { events: 2 } })],
  [
    'refuses connections',
    async ({ close, name, port }) => {
      await close();
      return () => startDemoEngine({ name, port, behaviour: usual });
    },
  ],
];

let engines: DemoEngine[];
let calmEngines: readonly DemoEngine[];
let weir: Weir;
let calm: Weir;
let callers: readonly Caller[];

const eight = (name: string): Promise<DemoEngine[]> =>
  Promise.all(Array.from({ length: 8 }, (_, index) => startDemoEngine({ name: `${name}-${index}`, behaviour: usual })));
const gateway = (of: readonly DemoEngine[]): Promise<Weir> =>
  startWeir({
    engines: of,
    env: { WEIR_IDLE_SECONDS: '2' },
    manifests: { 'catalog.yaml': endpointsManifest('eight', of) + modelManifest('test/eight', ['eight']) },
  });

beforeAll(async () => {
  [engines, calmEngines] = await Promise.all([eight('one'), eight('calm')]);
  [weir, calm] = await Promise.all([gateway(engines), gateway(calmEngines)]);
  callers = await Promise.all([weir, calm].map(async (one) => http2Caller({ ...one, key: await roomyKey(one) })));
  // Each has learned what is usual before anything breaks.
  await Promise.all(callers.map((caller) => runLoad({ caller, model: 'test/eight', requests: 400, atOnce: 16 })));
});
afterAll(async () => {
  await Promise.all(callers.map((caller) => caller.close()));
  await Promise.all([weir, calm].map((one) => one.close()));
  await Promise.all([...engines, ...calmEngines].map((engine) => engine.close()));
});

/** The wait that one in a hundred exceeds: for a stream's first byte, for JSON's end. */
function p99({ samples }: LoadRun): { readonly stream: number; readonly json: number } {
  const of = (stream: boolean): readonly number[] => samples.flatMap((one) => (one.stream === stream ? [one.ms] : []));
  return { stream: quantile(of(true), 0.99), json: quantile(of(false), 0.99) };
}

/** Loads both gateways at the same time: whatever else the machine does, it does to both. */
async function loadBoth(): Promise<readonly [bad: LoadRun, healthy: LoadRun]> {
  const [bad, healthy] = await Promise.all(callers.map((caller) => runLoad({ ...run, caller, model: 'test/eight' })));
  if (bad === undefined || healthy === undefined) throw new Error('two runs');
  return [bad, healthy];
}

/** Asks until the endpoint has served so many requests; how long that took, milliseconds. */
async function usedAgain(engine: DemoEngine): Promise<number> {
  const begun = performance.now();
  const before = engine.requests().length;
  const [caller] = callers;
  if (caller === undefined) throw new Error('a caller');
  while (engine.requests().length < before + 20) {
    if (performance.now() - begun > 60_000) throw new Error('it was not used again');
    const { errors } = await runLoad({ caller, model: 'test/eight', requests: 64, atOnce: 16 });
    expect(errors).toEqual([]);
  }
  return performance.now() - begun;
}

const attemptsOn = async (engine: DemoEngine): Promise<number> =>
  engine.requests().length + (await weir.metric('weir_attempt_faults_total', { kind: 'connect' }));

test.each(faults)('one that %s', { retry: tries - 1, timeout: 120_000 }, async (name, breaks) => {
  const [bad] = engines;
  if (bad === undefined) throw new Error('an engine');
  const before = await attemptsOn(bad);
  const mend = await breaks(bad);
  const runs = await loadBoth().finally(async () => {
    engines[0] = await mend();
  });
  const attempts = (await attemptsOn(bad)) - before;
  const [broken, healthy] = runs;
  expect([broken.errors, healthy.errors]).toEqual([[], []]);
  const back = await usedAgain(engines[0] ?? bad);
  await expectNothingLeft(weir, engines);
  const [seen, bound] = [p99(broken), p99(healthy)];
  console.log(
    `one that ${name}: p99 ${Math.round(seen.stream)} and ${Math.round(seen.json)} ms, healthy ${Math.round(bound.stream)} and ` +
      `${Math.round(bound.json)} ms (first byte, JSON); ${attempts} attempts on it in ${run.requests}; back after ${Math.round(back)} ms`,
  );
  expect(attempts).toBeGreaterThanOrEqual(1);
  expect(attempts).toBeLessThanOrEqual(30);
  expect(seen.stream).toBeLessThanOrEqual(1.5 * bound.stream);
  expect(seen.json).toBeLessThanOrEqual(1.5 * bound.json);
  // The circuit is open for 30 s at most, a quarter more by chance, and then a request probes it.
  expect(back).toBeLessThan(40_000);
});
