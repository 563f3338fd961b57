import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type EngineCall, startFakeEngine } from '../fake-engine/fake-engine.ts';
import { forFile } from '../support/for-file.ts';
import { runWeir } from '../support/run-weir.ts';
import { backendManifest, endpointsManifest, startWeir } from '../support/weir.ts';
import { liveCatalog } from './support/live-catalog.ts';

const dimensions = 32;

/** An engine of embeddings. Tests change what it serves, as an upgrade in place does. */
interface Served {
  model: string;
  scale: number;
  /** Texts of callers, without those of probes. */
  readonly asked: string[];
}

const vectorOf = (text: string, { model, scale }: Served): readonly number[] => {
  const bytes = createHash('shake256', { outputLength: dimensions }).update(`${model} ${text}`).digest();
  return [...bytes].map((byte) => (scale * (byte - 127.5)) / 128);
};

function reply({ request, body, response }: EngineCall, served: Served): void {
  if (request.url !== '/v1/embeddings') return void response.writeHead(404).end();
  const { input } = JSON.parse(body) as { readonly input: readonly string[] };
  served.asked.push(...input.filter((text) => text.startsWith('caller')));
  const data = input.map((text, index) => ({ object: 'embedding', index, embedding: vectorOf(text, served) }));
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ object: 'list', data, usage: { prompt_tokens: 3, total_tokens: 3 } }));
}

async function startEngine(served: Partial<Served> = {}) {
  const state: Served = { model: 'bge', scale: 1, asked: [], ...served };
  const engine = await forFile(startFakeEngine((call) => reply(call, state)));
  return { state, port: engine.port, url: engine.url };
}

const [first, twin, other, scaled] = [
  await startEngine(),
  await startEngine(),
  await startEngine({ model: 'gte' }),
  await startEngine({ scale: 5 }),
];
const all = [first, twin, other, scaled];

function embeddingModel(id: string, backends: readonly string[], minSimilarity = '0.999'): string {
  const routes = backends.map((backend) => `{backend: ${backend}, upstreamModel: bge}`);
  return [
    'apiVersion: weir.dev/v1alpha1',
    'kind: Model',
    `metadata: {name: ${id.replace('/', '-')}}`,
    'spec:',
    `  id: ${id}`,
    '  kind: Embedding',
    `  embedding: {dimensions: ${dimensions}, minSimilarity: "${minSimilarity}"}`,
    '  ownedBy: test',
    '  added: "2026-06-01T00:00:00Z"',
    '  contextLength: 512',
    '  pricing: {prompt: "0.00000001"}',
    `  routes: [${routes.join(', ')}]`,
    '---',
    '',
  ].join('\n');
}

const catalog = (minSimilarity?: string): string =>
  [
    backendManifest('first', first),
    backendManifest('other', other),
    backendManifest('scaled', scaled),
    endpointsManifest('pair', [twin, other]),
    embeddingModel('test/routes', ['first', 'other', 'scaled'], minSimilarity),
    embeddingModel('test/pair', ['pair']),
    embeddingModel('test/only', ['first'], minSimilarity),
  ].join('');
const weir = await forFile(startWeir({ manifests: { 'catalog.yaml': catalog() } }));
const polling = { interval: 100 };

let texts = 0;
async function embed(model: string) {
  const text = `caller ${(texts += 1)}`;
  const response = await weir.fetch(`${weir.baseUrl}/embeddings`, {
    method: 'POST',
    headers: { authorization: `Bearer ${weir.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, input: text }),
  });
  const body = (await response.json()) as { readonly data?: readonly { readonly embedding: readonly number[] }[] };
  return { status: response.status, vector: body.data?.[0]?.embedding, text, body };
}

async function conditionOf(model: string, type = 'SameVectors'): Promise<string> {
  const found = (await liveCatalog(weir)).models.find(({ id }) => id === model);
  const condition = found?.conditions.find((one) => one.type === type);
  return `${condition?.status} ${condition?.reason}: ${condition?.message}`;
}

/** The endpoint of the pair that answered its first probe sooner. */
const reference = () => (twin.state.asked.length > 0 ? twin : other);
const outside = () => (reference() === twin ? other : twin);

test('routes and endpoints with other vectors get no request, from the first one on', async () => {
  for (let time = 0; time < 12; time += 1) {
    const [ofRoutes, ofPair] = [await embed('test/routes'), await embed('test/pair')];
    expect([ofRoutes.status, ofPair.status]).toEqual([200, 200]);
    expect(ofRoutes.vector).toEqual(vectorOf(ofRoutes.text, first.state));
    expect(ofPair.vector).toEqual(vectorOf(ofPair.text, reference().state));
  }
  const asked = all.map(({ state }) => state.asked.length);
  expect(asked).toEqual(reference() === twin ? [12, 12, 0, 0] : [12, 0, 12, 0]);
});

test('conditions, problems, metrics and states of routes name them, with the cosine and the usual explanation', async () => {
  const condition = await conditionOf('test/routes');
  expect(condition).toMatch(
    /^False OtherVectors: spec\.routes\[1\]\.backend: "other": other vectors than those of test\/routes@first, endpoint \S+: lowest cosine -?0\.\d{4} /,
  );
  expect(condition).toMatch(
    /spec\.routes\[2\]\.backend: "scaled": .* but norm [\d.]+ where the reference has [\d.]+; usually only one of the two normalises/,
  );
  expect(await conditionOf('test/pair')).toContain(`endpoint 127.0.0.1:${outside().port}: lowest cosine`);
  expect(await conditionOf('test/pair', 'Servable')).toBe('True RoutesReady: ');
  expect(await conditionOf('test/only')).toBe('True SameVectors: ');
  const { models } = await liveCatalog(weir);
  const states = models.find(({ id }) => id === 'test/routes')?.routes.map(({ state }) => state);
  expect(states).toEqual(['available', 'other-vectors', 'other-vectors']);
  const problems = async (): Promise<readonly { readonly object: string; readonly problem: string }[]> =>
    JSON.parse((await runWeir(['problems', '--data', weir.data, '--json'])).stdout) as Awaited<
      ReturnType<typeof problems>
    >;
  // A Backend is not at fault, and a model that serves with another route has no further problem.
  const objects = async () => (await problems()).map(({ object }) => object).toSorted();
  await expect.poll(objects, polling).toEqual(['Model/test-pair', 'Model/test-routes']);
  expect((await problems())[0]?.problem).toMatch(
    /^Some endpoints make other vectors, and get no requests: spec\.routes/,
  );
  expect(await weir.metric('weir_route_same_vectors', { route: 'test/routes@first' })).toBe(1);
  expect(await weir.metric('weir_route_same_vectors', { route: 'test/routes@scaled' })).toBe(0);
});

test('an engine that is another one since stops its model, until an operator accepts its vectors', async () => {
  first.state.model = 'bge-next';
  // A change of the Model probes at once. Otherwise the hour would have to pass.
  writeFileSync(join(weir.manifests, 'catalog.yaml'), catalog('0.998'));
  await expect
    .poll(() => conditionOf('test/only'), polling)
    .toMatch(/^False VectorsChanged: .*weir model accept-vectors/);
  await expect.poll(() => conditionOf('test/routes'), polling).toMatch(/^False VectorsChanged: /);
  const refused = await embed('test/only');
  expect([refused.status, refused.body]).toMatchObject([
    503,
    { error: { message: 'No capacity for test/only right now.' } },
  ]);
  expect(await conditionOf('test/only', 'Servable')).toMatch(/^False NoRouteReady: .*other vectors than before/);

  const accepted = await runWeir(['model', 'accept-vectors', 'test/only', '--data', weir.data]);
  expect([accepted.code, accepted.stderr]).toEqual([0, '']);
  await expect.poll(() => conditionOf('test/only'), polling).toBe('True SameVectors: ');
  const { status, vector, text } = await embed('test/only');
  expect([status, vector]).toEqual([200, vectorOf(text, first.state)]);

  // The other model goes back to what its indexes hold.
  expect((await embed('test/routes')).status).toBe(503);
  const byOther = ['model', 'accept-vectors', 'test/routes', '--route', 'test/routes@other', '--data', weir.data];
  expect((await runWeir(byOther)).code).toBe(0);
  await expect.poll(async () => (await embed('test/routes')).status, polling).toBe(200);
  const served = await embed('test/routes');
  expect(served.vector).toEqual(vectorOf(served.text, other.state));
});

test('weir engine check compares engines before they are added', async () => {
  const check = (...urls: readonly string[]) =>
    runWeir(['engine', 'check', ...urls, '--embeddings', '--engine', 'vllm', '--model', 'bge']);
  const bad = await check(twin.url, other.url, scaled.url);
  expect(bad.code).toBe(1);
  expect(bad.stdout).toMatch(/^engine +dimensions +norm +short +long +non-Latin +code +verdict$/m);
  expect(bad.stdout).toMatch(/^http:\S+ +32 +[\d.]+ +1\.0000 +1\.0000 +1\.0000 +1\.0000 +reference$/m);
  expect(bad.stdout).toMatch(/^http:\S+: cosine .* usually only one of the two normalises its vectors$/m);
  expect(bad.stdout).toMatch(/not good: do not mix these vectors in one index$/m);
  const good = await check(twin.url, twin.url);
  expect([good.code, good.stdout]).toEqual([0, expect.stringMatching(/^good: all engines make the same vectors/m)]);
});

test('weir doctor looks at the vectors of a route, and sends no chat to it', async () => {
  const { stdout } = await runWeir(['doctor', 'scaled', '--data', weir.data]);
  expect(stdout).toMatch(/test\/routes: vectors .*32 numbers, norm/);
});
