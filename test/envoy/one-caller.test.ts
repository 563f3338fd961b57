/** What one caller asks of engines that nobody can do costs the routes nothing, the model nothing, and other callers nothing. */
import { beforeEach, expect, test } from 'vitest';
import { startProgrammableEngine } from '../programmable-engine/engine.ts';
import { runWeir } from '../support/run-weir.ts';
import { backendManifest, modelManifest, startWeir } from '../support/weir.ts';
import { forFile } from '../support/for-file.ts';

const behaviour = { reasoning: 'never', words: 3 } as const;
const models = [
  'test/schemas',
  'test/words',
  'test/defective',
  'test/streams',
  'test/callers',
  'test/poison',
  'test/twenty',
];

const engines = await forFile(
  Promise.all(['alpha', 'beta', 'gamma'].map((name) => startProgrammableEngine({ name, behaviour }))),
);
const backends = engines.map((_, at) => `backend-${at}`);
const more = '  hedging: {mode: Disabled}\n  serviceLevel: {minAvailability: "0.9", windowSeconds: 600}';
const manifests = [
  ...engines.map((engine, at) => backendManifest(backends[at] ?? '', engine)),
  // A million times heavier than the others: the first one serves as long as nothing is held against it.
  ...models.map((id) => modelManifest(id, backends, more).replace('weight: 1000}', 'weight: 1000000}')),
];
const weir = await forFile(startWeir({ engines, manifests: { 'catalog.yaml': manifests.join('') } }));
beforeEach(() => {
  for (const engine of engines) engine.reset();
});

let keys = 0;
/** The text of a key of its own workspace. */
async function newKey(): Promise<string> {
  keys += 1;
  const name = `caller-${keys}`;
  await runWeir(['workspace', 'create', name, '--credit', '100', '--data', weir.data]);
  const roomy = ['--rate', '100000', '--burst', '100000'];
  const made = await runWeir(['key', 'create', '--workspace', name, ...roomy, '--json', '--data', weir.data]);
  return (JSON.parse(made.stdout) as { readonly key: string }).key;
}

/** Nothing is five at least and one at most. */
const impossible = { type: 'integer', minimum: 5, maximum: 1 };
const possible = { type: 'integer', minimum: 1, maximum: 5 };
const format = (count: object, strict: boolean) => ({
  type: 'json_schema',
  json_schema: {
    ...{ name: 'count', strict },
    schema: { type: 'object', properties: { count }, required: ['count'] },
  },
});

interface Asked {
  readonly key: string;
  readonly model: string;
  readonly count?: object;
  readonly strict?: boolean;
  readonly stream?: boolean;
  readonly directives?: object;
  /** The whole message. Default: a question of its own. */
  readonly content?: string;
}

let asked = 0;
async function ask(options: Asked): Promise<Response> {
  asked += 1;
  const { key, model, count, strict = true, stream = false, directives } = options;
  const question = `Question ${asked}? ${directives === undefined ? '' : `[[demo ${JSON.stringify(directives)}]]`}`;
  const { content = question } = options;
  const body = { model, stream, messages: [{ role: 'user', content }] };
  const response = await weir.chat(count === undefined ? body : { ...body, response_format: format(count, strict) }, {
    authorization: `Bearer ${key}`,
  });
  return new Response(await response.text(), { status: response.status });
}
const statusOf = async (options: Asked): Promise<number> => (await ask(options)).status;

async function isListed(model: string): Promise<boolean> {
  const { data } = (await (await weir.fetch(`${weir.baseUrl}/models`)).json()) as {
    readonly data: readonly { readonly id: string }[];
  };
  return data.some(({ id }) => id === model);
}
const calls = (): readonly number[] => engines.map((engine) => engine.requests().length);
const total = (): number => calls().reduce((sum, count) => sum + count, 0);

test('fifty schemas that nobody can meet leave the model listed, make few further calls, and other callers where they were', async () => {
  const [one, two] = [await newKey(), await newKey()];
  const model = 'test/schemas';
  let others = 0;
  for (let round = 0; round < 50; round += 1) {
    expect(await statusOf({ key: one, model, count: impossible })).toBe(502);
    if (round % 5 > 0) continue;
    const before = calls();
    expect(await statusOf({ key: two, model, count: possible })).toBe(200);
    // The best route, at once.
    expect(calls()).toEqual([(before[0] ?? 0) + 1, before[1], before[2]]);
    others += 1;
  }
  // Ten retries to begin with, and one a minute.
  expect(total() - others).toBeGreaterThanOrEqual(60);
  expect(total() - others).toBeLessThan(65);
  expect(await isListed(model)).toBe(true);
  expect(await weir.metric('weir_model_listed', { model })).toBe(1);
});

test('an answer that misses a schema without strict is relayed as it is, with no further attempt once the retries are spent', async () => {
  const [one] = [await newKey()];
  const model = 'test/schemas';
  for (let round = 0; round < 10; round += 1) {
    expect(await statusOf({ key: one, model, count: impossible, strict: false })).toBe(200);
  }
  const before = total();
  for (let round = 0; round < 10; round += 1) {
    expect(await statusOf({ key: one, model, count: impossible, strict: false })).toBe(200);
  }
  expect(total() - before).toBe(10);
});

test('prompts that keep engines from saying JSON at all cost no more than that', async () => {
  const [one, two] = [await newKey(), await newKey()];
  const model = 'test/words';
  for (let round = 0; round < 30; round += 1) {
    const status = await statusOf({ key: one, model, count: possible, directives: { jsonDefect: 'not-json' } });
    expect(status).toBe(502);
  }
  expect(total()).toBeLessThan(45);
  const [first = 0] = calls();
  expect(await statusOf({ key: two, model, count: possible })).toBe(200);
  expect(calls()[0]).toBe(first + 1);
  expect(await isListed(model)).toBe(true);
});

test('a route that really misses schemas is left out after a few answers, for one caller alone, since others meet them', async () => {
  const key = await newKey();
  const model = 'test/defective';
  engines[0]?.set({ ...behaviour, jsonDefect: 'wrong-schema' });
  for (let round = 0; round < 20; round += 1) expect(await statusOf({ key, model, count: possible })).toBe(200);
  expect(calls()[0]).toBe(3);
});

test('so is one that streams them, once another route is seen to meet the same schema', async () => {
  const key = await newKey();
  const model = 'test/streams';
  const stream = true;
  engines[0]?.set({ ...behaviour, jsonDefect: 'wrong-schema' });
  expect(await statusOf({ key, model, count: possible, stream })).toBe(200);
  await weir.settled();
  // Not streamed, the same schema is found to be met elsewhere.
  for (let round = 0; round < 3; round += 1) expect(await statusOf({ key, model, count: possible })).toBe(200);
  await weir.settled();
  const [before = 0] = calls();
  for (let round = 0; round < 10; round += 1) expect(await statusOf({ key, model, count: possible, stream })).toBe(200);
  expect(calls()[0]).toBe(before);
});

test('a prompt that makes every engine fail counts once, whoever sends it how often, and is not tried everywhere again', async () => {
  const [one, two, three] = [await newKey(), await newKey(), await newKey()];
  const model = 'test/poison';
  const content = 'This breaks engines. [[demo {"status": 500}]]';
  for (let round = 0; round < 20; round += 1) {
    for (const key of [one, two]) {
      expect(await statusOf({ key, model, content })).toBe(502);
    }
  }
  // Three attempts the first time, two from then on.
  expect(total()).toBe(3 + 39 * 2);
  const before = calls();
  expect(await statusOf({ key: three, model })).toBe(200);
  expect(calls()).toEqual([(before[0] ?? 0) + 1, before[1], before[2]]);
  expect(await isListed(model)).toBe(true);
  const last = await ask({ key: one, model, content });
  expect(await last.text()).not.toContain('safe to retry');
});

test('twenty prompts that make every engine fail are twenty failures: the twin of the above', async () => {
  const key = await newKey();
  const model = 'test/twenty';
  for (let round = 0; round < 20; round += 1) {
    expect(await statusOf({ key, model, directives: { status: 500 } })).toBe(502);
  }
  await expect.poll(() => isListed(model), { interval: 200 }).toBe(false);
});

test('the schemas of two callers that nobody meets count against the model: the twin of the above', async () => {
  const [one, two] = [await newKey(), await newKey()];
  const model = 'test/callers';
  for (let round = 0; round < 20; round += 1) {
    for (const key of [one, two]) expect(await statusOf({ key, model, count: impossible })).toBe(502);
  }
  await expect.poll(() => isListed(model), { interval: 200 }).toBe(false);
});
