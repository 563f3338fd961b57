import { beforeEach, expect, test } from 'vitest';
import { startProgrammableEngine } from '../programmable-engine/engine.ts';
import { backendManifest, modelManifest, startWeir } from '../support/weir.ts';
import { forFile } from '../support/for-file.ts';

const level = '  serviceLevel: {minAvailability: "0.9", windowSeconds: 10}';

const behaviour = { reasoning: 'never' } as const;
const engines = await forFile(
  Promise.all([
    startProgrammableEngine({ name: 'alpha', behaviour }),
    startProgrammableEngine({ name: 'beta', behaviour }),
  ] as const),
);
const [steady, failing] = engines;
const weir = await forFile(
  startWeir({
    engines,
    manifests: {
      'catalog.yaml': [
        ...[backendManifest('steady', steady), backendManifest('failing', failing)],
        ...['test/measured', 'test/quiet'].map((id) => modelManifest(id, ['steady'])),
        modelManifest('test/single', ['failing']),
        modelManifest('test/level', ['steady'], level),
      ].join(''),
    },
  }),
);
beforeEach(() => {
  for (const engine of engines) engine.reset();
});

interface Listed {
  readonly id: string;
  readonly performance?: Readonly<Record<string, number>>;
}

async function list(): Promise<readonly Listed[]> {
  const response = await weir.fetch(`${weir.baseUrl}/models`);
  expect(response.status).toBe(200);
  return ((await response.json()) as { readonly data: readonly Listed[] }).data;
}
async function isListed(model: string): Promise<boolean> {
  return (await list()).some(({ id }) => id === model);
}
const polling = { interval: 200 };

let asked = 0;

/** Asks once, a question of its own: the same one again says nothing new of a failing engine. Reads the answer to its end; gives its status. */
async function ask(model: string, directives: object = {}, fields: object = {}): Promise<number> {
  asked += 1;
  const content = `Question ${asked}: tell me. [[demo ${JSON.stringify({ words: 3, ...directives })}]]`;
  const response = await weir.chat({ model, messages: [{ role: 'user', content }], ...fields });
  await response.text();
  return response.status;
}

const listedGauge = (model: string): Promise<number> => weir.metric(`weir_model_listed{model="${model}"}`);

test('what streams delivered is published: their pace, the wait for their first token, and when', async () => {
  const before = Math.floor(Date.now() / 1000);
  expect((await list()).some((model) => 'performance' in model)).toBe(false);
  const pace = { words: 30, firstTokenDelayMs: 150, tokenDelayMs: 20 };
  const fromMs = globalThis.performance.now();
  const answers = await Promise.all(Array.from({ length: 6 }, () => ask('test/measured', pace, { stream: true })));
  const tookMs = globalThis.performance.now() - fromMs;
  expect(answers).toEqual(Array(6).fill(200));
  await weir.settled();
  const measured = async () => (await list()).find(({ id }) => id === 'test/measured')?.performance;
  await expect.poll(measured, polling).toBeDefined();
  const performance = (await measured()) ?? {};
  expect(Object.keys(performance)).toEqual(['tps_p50', 'ttft_p50_ms', 'as_of']);
  // A token every 20 ms at most, give or take the error of a figure; on a busy machine as many as came in the time that it took.
  expect(performance['tps_p50']).toBeGreaterThan((0.9 * 1000 * pace.words) / tookMs);
  expect(performance['tps_p50']).toBeLessThan(53);
  expect(performance['ttft_p50_ms']).toBeGreaterThan(140);
  expect(performance['ttft_p50_ms']).toBeLessThan(1.1 * tookMs);
  expect(performance['as_of']).toBeGreaterThanOrEqual(before);
  expect(performance['as_of']).toBeLessThanOrEqual(Date.now() / 1000);
  expect((await list()).find(({ id }) => id === 'test/quiet')).not.toHaveProperty('performance');
});

test('a model whose only backend fails leaves the list and stays callable, and is back once the backend is', async () => {
  const [, failing] = engines;
  expect([await isListed('test/single'), await listedGauge('test/single')]).toEqual([true, 1]);
  failing.set({ status: 500 });
  await expect
    .poll(async () => {
      // No route is in, or every attempt failed: never that there were no such model.
      expect([502, 503]).toContain(await ask('test/single'));
      return isListed('test/single');
    }, polling)
    .toBe(false);
  expect(await listedGauge('test/single')).toBe(0);
  expect(await isListed('test/quiet')).toBe(true);
  failing.reset();
  await expect.poll(() => ask('test/single'), polling).toBe(200);
  await expect.poll(() => isListed('test/single'), polling).toBe(true);
  expect(await listedGauge('test/single')).toBe(1);
});

test('a model below its service level leaves the list while it answers, and is back when the window has turned', async () => {
  expect(await isListed('test/level')).toBe(true);
  // One in four fails: far below the level, and not enough for its route to be ejected.
  for (let round = 0; round < 6; round += 1) {
    expect(await ask('test/level', { status: 500 })).toBe(502);
    for (let good = 0; good < 3; good += 1) expect(await ask('test/level')).toBe(200);
  }
  await expect.poll(() => isListed('test/level'), polling).toBe(false);
  expect(await weir.metric('weir_model_availability_ratio{model="test/level"}')).toBe(0.75);
  expect(await ask('test/level')).toBe(200);
  await expect.poll(() => isListed('test/level'), polling).toBe(true);
});
