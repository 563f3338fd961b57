// @suite long
/** A backend that is no good beside a healthy one: no request fails for it, and few wait for it. */
import { afterAll, expect, test } from 'vitest';
import { type ProgrammableEngine, startProgrammableEngine } from '../programmable-engine/engine.ts';
import { http2Caller } from './support/caller.ts';
import { type BadBackend, type BadKind, badBackends } from './support/chaos/bad-backends.ts';
import { type LoadRun, runLoad } from './support/chaos/load-run.ts';
import { quantile } from '../support/quantile.ts';
import { expectNothingLeft } from './support/chaos/nothing-left.ts';
import { roomyKey } from '../support/roomy-key.ts';
import { backendManifest, modelManifest, startWeir, type Weir } from '../support/weir.ts';
import { forFile } from '../support/for-file.ts';

const usual = { reasoning: 'never', words: 4, deltaTokens: 8, firstTokenDelayMs: 150, tokenDelayMs: 5 } as const;
const requests = 1000;
const atOnce = 16;
/** While a gateway is new to a backend, it may wait for it. */
const learning = 50;
/** The bound is a promise; a machine that others use too may need another try to show it. */
const tries = 3;

/** Those of a group run side by side, and so do two healthy backends: whatever else the machine does, it does to all of them. */
const groups: readonly (readonly BadKind[])[] = [
  ['swallows every SYN', 'refuses connections', 'is overloaded every other half second'],
  ['accepts and never answers', 'answers 200 with a web page', 'resets connections every other half second'],
  ['answers headers and then stalls', 'sends comments for ever'],
];
const kinds = groups.flat();

/** Each try has routes of its own, of which the gateway knows nothing yet. */
const nameOf = (kind: string, attempt: number): string => `${kind.replaceAll(/\W+/g, '-').toLowerCase()}-${attempt}`;

/** Two routes that are worth the same. */
const evenModel = (name: string, backends: readonly [string, string]): string =>
  modelManifest(`test/${name}`, backends).replace('weight: 1000', 'weight: 1');

async function startGateway(manifests: readonly string[]): Promise<Weir> {
  const env = { WEIR_IDLE_SECONDS: '2' };
  return startWeir({ engines, env, manifests: { 'catalog.yaml': manifests.join('') } });
}

afterAll(() => Promise.all([...engines, ...bad.values()].map((engine) => engine.close())));
/** Healthy alone, bad and healthy: each gateway has its own, so that neither learns from the other or lends it its budget. */
const engines: readonly ProgrammableEngine[] = await Promise.all(
  ['alpha', 'beta', 'gamma'].map((name) => startProgrammableEngine({ name, behaviour: usual })),
);
const [alpha, beta, gamma] = engines.map((engine, index) => backendManifest(`healthy-${index}`, engine));
const bad: ReadonlyMap<BadKind, BadBackend> = new Map(
  await Promise.all(kinds.map(async (kind) => [kind, await badBackends[kind](usual)] as const)),
);
const mixed = [...bad].flatMap(([kind, backend]) =>
  Array.from({ length: tries }, (_, attempt) => nameOf(kind, attempt)).flatMap((name) => [
    backendManifest(name, backend),
    evenModel(name, [name, 'healthy-2']),
  ]),
);
const weirs = await forFile(
  Promise.all([
    startGateway([alpha ?? '', beta ?? '', evenModel('healthy', ['healthy-0', 'healthy-1'])]),
    startGateway([gamma ?? '', ...mixed]),
  ]),
);
const callers = await forFile(
  Promise.all(weirs.map(async (weir) => http2Caller({ ...weir, key: await roomyKey(weir) }))),
);

/** Besides the first ones. */
const learned = ({ samples }: LoadRun) => samples.slice(learning);

/** The wait that one in a hundred exceeds once the gateway has learned: for a stream's first byte, for JSON's end. */
function p99(run: LoadRun): { readonly stream: number; readonly json: number } {
  const of = (stream: boolean): readonly number[] =>
    learned(run).flatMap((one) => (one.stream === stream ? [one.ms] : []));
  return { stream: quantile(of(true), 0.99), json: quantile(of(false), 0.99) };
}

function shown(run: LoadRun): string {
  const { stream, json } = p99(run);
  const worst = Math.max(...learned(run).map(({ ms }) => ms));
  return `p99 ${Math.round(stream)} ms to a stream's first byte, ${Math.round(json)} ms to JSON's end; worst ${Math.round(worst)} ms`;
}

const named = groups.map((group) => ({ group, title: group.join('; one that ') }));
const attempted = new Map<readonly BadKind[], number>();

test.each(named)('a backend that $title', { retry: tries - 1 }, async ({ group }) => {
  const attempt = attempted.get(group) ?? 0;
  attempted.set(group, attempt + 1);
  const [weir, caller, calm] = [weirs[1], callers[1], callers[0]];
  if (weir === undefined || caller === undefined || calm === undefined) throw new Error('no gateway');
  const run = { requests, atOnce };
  const names = group.map((kind) => nameOf(kind, attempt));
  const [healthy, ...runs] = await Promise.all([
    runLoad({ ...run, caller: calm, model: 'test/healthy' }),
    ...names.map((name) => runLoad({ ...run, caller, model: `test/${name}` })),
  ]);
  expect([healthy, ...runs].map(({ errors }) => errors)).toEqual([healthy, ...runs].map(() => []));
  for (const one of weirs) await expectNothingLeft(one, [...engines, ...bad.values()]);
  const attempts = await Promise.all(
    names.map((name) => weir.metric('weir_attempts_total', { model: `test/${name}`, backend: name })),
  );
  console.log(`two healthy backends: ${shown(healthy)}`);
  for (const [index, one] of runs.entries()) {
    console.log(`one that ${group[index]}: ${shown(one)}; ${attempts[index]} attempts on it in ${requests} requests`);
  }
  for (const count of attempts) {
    // It was really there, and was mostly left alone.
    expect(count).toBeGreaterThanOrEqual(5);
    expect(count).toBeLessThan(requests / 5);
  }
  const bound = p99(healthy);
  for (const { stream, json } of runs.map(p99)) {
    expect(stream).toBeLessThanOrEqual(2 * bound.stream);
    expect(json).toBeLessThanOrEqual(2 * bound.json);
  }
});
