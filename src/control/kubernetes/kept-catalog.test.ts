import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import type { EndpointsBySource } from './follow-on-demand.ts';
import { createKeptCatalog, createKeptEndpoints } from './kept-catalog.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'weir-kept-'));
});
afterEach(() => rm(dir, { recursive: true }));

const endpointsOf = (address: string, zone?: string): EndpointsBySource =>
  new Map([['http vllm 80', [{ name: `${address}:8000`, address, port: 8000, authority: 'vllm.models.svc', zone }]]]);

const writing = {
  withinMs: 1_000,
  clock: createFakeClock(),
  onError: (error: unknown) => {
    throw error;
  },
};
const keptFor = (namespace = 'models') =>
  createKeptEndpoints({ ...writing, file: join(dir, 'endpoints.json'), namespace });
async function save(endpoints: EndpointsBySource, namespace?: string): Promise<void> {
  const kept = keptFor(namespace);
  kept.save(() => endpoints);
  await kept.close();
}

test('endpoints are read as they were written, with and without a zone', async () => {
  for (const endpoints of [endpointsOf('10.0.0.1', 'eu-1a'), endpointsOf('10.0.0.2')]) {
    await save(endpoints);
    expect(await keptFor().load()).toEqual(endpoints);
  }
});

test.each([
  ['there is no file', undefined],
  ['the file is of another version', '{"version": 2}'],
  ['the file is broken', '{"version": 1, "nam'],
])('no endpoints are known where %s', async (_about, text) => {
  if (text !== undefined) await writeFile(join(dir, 'endpoints.json'), text);
  expect([...(await keptFor().load())]).toEqual([]);
});

test('the endpoints of another namespace are none of ours', async () => {
  await save(endpointsOf('10.0.0.1'), 'other');
  expect([...(await keptFor().load())]).toEqual([]);
});

test('of several calls the last one wins', async () => {
  const kept = keptFor();
  for (const address of ['10.0.0.1', '10.0.0.2', '10.0.0.3']) kept.save(() => endpointsOf(address));
  await kept.close();
  expect(await kept.load()).toEqual(endpointsOf('10.0.0.3'));
  expect(await readdir(dir)).toEqual(['endpoints.json']);
});

test('the catalog says when it was last confirmed, and only its user may read it', async () => {
  const file = join(dir, 'catalog.json');
  const kept = createKeptCatalog({ ...writing, file, namespace: 'models' });
  const objects = [{ where: 'Backend/a', value: { kind: 'Backend' } }];
  kept.save(objects);
  await kept.close();
  await kept.confirm(1_780_000_000_000);
  expect(await kept.load()).toEqual({ objects, inStepAt: 1_780_000_000_000 });
  expect((await stat(file)).mode & 0o777).toBe(0o600);
});
