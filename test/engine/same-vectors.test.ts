import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { liveCatalog } from '../envoy/support/live-catalog.ts';
import { forFile } from '../support/for-file.ts';
import { rewriteModel } from '../support/gguf.ts';
import { type Llama, startLlama, tinyModel } from '../support/llama.ts';
import {
  type EmbeddingsBody,
  postJson,
  retrievalBackend,
  retrievalModel,
  vectorsIn,
} from '../support/retrieval-catalog.ts';
import { startWeir } from '../support/weir.ts';

// Real llama-servers behind one Model: a twin, and one each with another pooling, another quantisation and another model. None of them
// differs in what it says of itself.

const folder = mkdtempSync(join(tmpdir(), 'weir-same-vectors-'));
afterAll(() => rmSync(folder, { recursive: true }));
const quantised = join(folder, 'quantised.gguf');
const stranger = join(folder, 'stranger.gguf');
rewriteModel(tinyModel(), quantised, 'q4_0');
rewriteModel(tinyModel(), stranger, 'reversed');

const start = (
  options: { readonly model?: string; readonly pooling?: string; readonly port?: number } = {},
): Promise<Llama> => {
  const { pooling = 'mean', ...more } = options;
  const extra = ['--embeddings', '--pooling', pooling, '-b', '2048', '-ub', '2048'];
  return startLlama({ ...more, parallel: 1, extra });
};
const [first, twin, pooled, ...others] = await Promise.all([
  start(),
  forFile(start()),
  forFile(start({ pooling: 'cls' })),
  forFile(start({ model: quantised })),
  forFile(start({ model: stranger })),
]);
let reference = first;
afterAll(() => reference.close());

const servers = { first, twin, pooled, quantised: others[0], stranger: others[1] };
const names = Object.keys(servers);
const catalogOf = (backends: readonly string[]): string =>
  [
    ...Object.entries(servers).map(([name, server]) => retrievalBackend(name, 'llamacpp', server)),
    ...[['test/alone', ['first']] as const, ['test/vectors', backends] as const].map(([id, of]) =>
      retrievalModel(id, 'Embedding', {
        ...{ backends: of, upstreamModel: 'tiny', contextLength: 2048, facts: 'embedding: {dimensions: 64}' },
      }),
    ),
  ].join('');
const weir = await forFile(startWeir({ unlimited: true, manifests: { 'catalog.yaml': catalogOf(['first', 'twin']) } }));

const embed = (model: string): ReturnType<typeof postJson> =>
  postJson(`${weir.baseUrl}/embeddings`, { model, input: ['the tide comes in'] }, weir);
async function conditionOf(model: string): Promise<string> {
  const found = (await liveCatalog(weir)).models.find(({ id }) => id === model);
  const condition = found?.conditions.find(({ type }) => type === 'SameVectors');
  return `${condition?.status} ${condition?.reason}: ${condition?.message}`;
}

it('another pooling, quantisation or model behind one name is found in the first minute, named, and gets no request', async () => {
  // What answers first makes the reference.
  await expect.poll(() => conditionOf('test/vectors')).toBe('True SameVectors: ');
  writeFileSync(join(weir.manifests, 'catalog.yaml'), catalogOf(names));
  const named = async (): Promise<readonly string[]> => {
    const condition = await conditionOf('test/vectors');
    return names.filter((name) => condition.startsWith('False OtherVectors: ') && condition.includes(`"${name}"`));
  };
  await expect.poll(named, { timeout: 60_000 }).toEqual(['pooled', 'quantised', 'stranger']);
  const { models } = await liveCatalog(weir);
  const states = models.find(({ id }) => id === 'test/vectors')?.routes.map(({ state }) => state);
  expect(states).toEqual(['available', 'available', 'other-vectors', 'other-vectors', 'other-vectors']);
  const theirs = await postJson(`${twin.url}/v1/embeddings`, { input: ['the tide comes in'] });
  const [vector] = vectorsIn(theirs.body as EmbeddingsBody);
  for (let time = 0; time < 20; time += 1) {
    const answer = await embed('test/vectors');
    expect([answer.status, vectorsIn(answer.body as EmbeddingsBody)]).toEqual([200, [vector]]);
  }
});

it('a server that comes back with other weights under its name is found, and its model stops', async () => {
  expect((await embed('test/alone')).status).toBe(200);
  await reference.kill();
  expect((await embed('test/alone')).status).toBeGreaterThanOrEqual(500);
  reference = await start({ model: quantised, port: first.port });
  await expect.poll(() => conditionOf('test/alone'), { timeout: 60_000 }).toMatch(/^False VectorsChanged: .*"first"/s);
  expect((await embed('test/alone')).status).toBe(503);
  // The other model has a twin that still makes the vectors of its index.
  expect((await embed('test/vectors')).status).toBe(200);
});
