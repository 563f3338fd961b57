/** A route that fails is left alone for a while, found out to be well by single probes, and used again. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { BehaviourInput } from '../programmable-engine/behaviour.ts';
import { type ProgrammableEngine, startProgrammableEngine } from '../programmable-engine/engine.ts';
import { type Caller, http1Caller } from './support/caller.ts';
import { expectNothingLeft } from './support/chaos/nothing-left.ts';
import { roomyKey } from '../support/roomy-key.ts';
import { backendManifest, modelManifest, startWeir, type Weir } from '../support/weir.ts';

const usual = { reasoning: 'never', words: 3, headersDelayMs: 10 } as const;

let failing: ProgrammableEngine;
let cooling: ProgrammableEngine;
let well: ProgrammableEngine;
let weir: Weir;
let caller: Caller;

beforeAll(async () => {
  const start = (name: string): Promise<ProgrammableEngine> => startProgrammableEngine({ name, behaviour: usual });
  [failing, cooling, well] = await Promise.all([start('failing'), start('cooling'), start('well')]);
  // On a busy machine the healthy one would get a second attempt.
  const unhedged = '  hedging: {mode: Disabled}';
  const manifests = [
    ...[backendManifest('failing', failing), backendManifest('cooling', cooling), backendManifest('well', well)],
    // A million times heavier than the healthy one: if it is left alone, then not by chance.
    ...['failing', 'cooling'].map((name) =>
      modelManifest(`test/${name}`, [name, 'well'], unhedged).replace('weight: 1000', 'weight: 1000000'),
    ),
  ];
  weir = await startWeir({ engines: [failing, cooling, well], manifests: { 'catalog.yaml': manifests.join('') } });
  caller = http1Caller({ ...weir, key: await roomyKey(weir) });
});
afterAll(async () => {
  await caller.close();
  await weir.close();
  for (const engine of [failing, cooling, well]) await engine.close();
});

let asked = 0;

/** Asks one question after the other until what is waited for has come; nobody may notice anything. Tells how many. */
async function askUntil(model: string, isSo: () => boolean): Promise<number> {
  const before = asked;
  while (!isSo()) {
    if (asked - before > 2000) throw new Error('what was waited for did not come');
    asked += 1;
    const messages = [{ role: 'user', content: `Question ${asked}?` }];
    const answer = await caller.ask({ model, messages, stream: asked % 2 === 0 });
    expect(answer.status).toBe(200);
    expect(answer.text()).toContain('"finish_reason":"stop"');
  }
  return asked - before;
}

/** When it got its requests, milliseconds after the first one. */
const times = (engine: ProgrammableEngine): readonly number[] => {
  const at = engine.requests().map(({ receivedAt }) => receivedAt);
  return at.map((one) => one - (at[0] ?? 0));
};
/** How long before its nth request it was left alone. */
const pauseBefore = (engine: ProgrammableEngine, nth: number): number => {
  const at = times(engine);
  return (at[nth - 1] ?? Number.NaN) - (at[nth - 2] ?? Number.NaN);
};
const served = (engine: ProgrammableEngine, least: number) => () => engine.requests().length >= least;

test('after five failures in a row it is left alone and probed once after one second, once after two, and used again', async () => {
  failing.set({ status: 500 } satisfies BehaviourInput);
  await askUntil('test/failing', served(failing, 5));
  const meanwhile = [await askUntil('test/failing', served(failing, 6))];
  failing.set(usual);
  meanwhile.push(await askUntil('test/failing', served(failing, 7)));
  expect(pauseBefore(failing, 6)).toBeGreaterThanOrEqual(990);
  expect(pauseBefore(failing, 7)).toBeGreaterThanOrEqual(1990);
  for (const count of meanwhile) expect(count).toBeGreaterThan(1);
  // All but the one of the probe that found it well.
  expect(well.requests().length).toBe(asked - 1);
  const back = await askUntil('test/failing', served(failing, 100));
  const probes = times(failing).slice(5, 7).map(Math.round).join(' and ');
  console.log(
    `probed after ${probes} ms, ${meanwhile.join(' and ')} requests in between; ${back} requests to serve 93`,
  );
  // It is the heavier one by far, and has nearly all of it again.
  expect(back).toBeLessThan(140);
  await expectNothingLeft(weir, [failing, well]);
});

test('one that has had enough is left alone for as long as it asked, and then used without further ado', async () => {
  cooling.set({ status: 429, retryAfter: '2', times: 1 });
  await askUntil('test/cooling', served(cooling, 1));
  const meanwhile = await askUntil('test/cooling', served(cooling, 2));
  expect(pauseBefore(cooling, 2)).toBeGreaterThanOrEqual(1990);
  expect(meanwhile).toBeGreaterThan(1);
  const back = await askUntil('test/cooling', served(cooling, 50));
  console.log(
    `left alone for ${Math.round(pauseBefore(cooling, 2))} ms and ${meanwhile} requests; ${back} to serve 48`,
  );
  expect(back).toBeLessThan(80);
  await expectNothingLeft(weir, [cooling, well]);
});
