import { beforeEach, expect, test } from 'vitest';
import { startProgrammableEngine } from '../programmable-engine/engine.ts';
import { http1Caller } from './support/caller.ts';
import { backendManifest, modelManifest, startWeir } from '../support/weir.ts';
import { forFile } from '../support/for-file.ts';

const main = await forFile(startProgrammableEngine({ name: 'main', behaviour: { reasoning: 'never' } }));
const spare = await forFile(startProgrammableEngine({ name: 'spare', behaviour: { reasoning: 'never' } }));
const over = (id: string, spareWeight: number): string =>
  modelManifest(id, ['main', 'spare'], '', 1_000_000).replace('weight: 1}', `weight: ${spareWeight}}`);
const manifests = [backendManifest('main', main), backendManifest('spare', spare)];
const weir = await forFile(
  startWeir({
    engines: [main, spare],
    manifests: { 'catalog.yaml': [...manifests, over('test/model', 0), over('test/weighted', 1)].join('') },
  }),
);
const caller = await forFile(http1Caller(weir));
beforeEach(() => {
  for (const engine of [main, spare]) engine.reset();
});

let asked = 0;

/** Each prompt is another one: a failure that repeats on one prompt counts for little. */
async function ask(model: string, text = `Who answers number ${(asked += 1)}?`): Promise<void> {
  const answer = await caller.ask({ model, stream: true, messages: [{ role: 'user', content: text }] });
  expect([answer.status, answer.text().includes('[DONE]')]).toEqual([200, true]);
}

const counts = () => ({ main: main.requests().length, spare: spare.requests().length });

/** Slow enough for a hedge, which comes after a second where nothing is known of a route (docs/concepts/failover.md). */
const slowly = 'Who is slow? [[demo {"words": 4, "firstTokenDelayMs": 2500}]]';

test('a route of weight 0 gets nothing while another one serves, be it slow; a route of weight 1 gets the hedge', async () => {
  await ask('test/model', slowly);
  for (let time = 0; time < 40; time += 1) await ask('test/model');
  expect(counts()).toEqual({ main: 41, spare: 0 });
  await ask('test/weighted', slowly);
  expect(counts()).toEqual({ main: 42, spare: 1 });
});

test('a route of weight 0 serves every request while the other one fails, and none once that one is well again', async () => {
  expect(await weir.metric('weir_route_weight', { model: 'test/model', backend: 'spare' })).toBe(0);
  main.set({ status: 500 });
  for (let time = 0; time < 20; time += 1) await ask('test/model');
  const failing = counts();
  expect(failing.spare).toBe(20);
  // The main route is ejected, and asked by single probes alone.
  expect(failing.main).toBeLessThan(20);
  expect(await weir.metric('weir_route_serving', { model: 'test/model', backend: 'main' })).toBe(0);
  expect(await weir.metric('weir_route_serving', { model: 'test/model', backend: 'spare' })).toBe(1);
  main.reset();
  const servedByMain = async (): Promise<boolean> => {
    const before = counts();
    await ask('test/model');
    return counts().main > before.main;
  };
  await expect.poll(servedByMain, { interval: 200 }).toBe(true);
  const before = counts();
  for (let time = 0; time < 20; time += 1) await ask('test/model');
  expect(counts()).toEqual({ main: before.main + 20, spare: before.spare });
});
