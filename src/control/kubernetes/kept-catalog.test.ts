import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { EndpointsBySource } from './follow-on-demand.ts';
import { createKeptCatalog, createKeptEndpoints } from './kept-catalog.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'weir-kept-'));
});
afterEach(() => rm(dir, { recursive: true }));

const endpointsOf = (address: string, zone?: string): EndpointsBySource =>
  new Map([['http vllm 80', [{ name: `${address}:8000`, address, port: 8000, authority: 'vllm.models.svc', zone }]]]);

const keptFor = (namespace = 'models') => createKeptEndpoints({ file: join(dir, 'endpoints.json'), namespace });

test('endpoints are read as they were written, with and without a zone', async () => {
  for (const endpoints of [endpointsOf('10.0.0.1', 'eu-1a'), endpointsOf('10.0.0.2')]) {
    await keptFor().save(endpoints);
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
  await keptFor('other').save(endpointsOf('10.0.0.1'));
  expect([...(await keptFor().load())]).toEqual([]);
});

test('of several calls the last one wins', async () => {
  const kept = keptFor();
  await Promise.all(['10.0.0.1', '10.0.0.2', '10.0.0.3'].map((address) => kept.save(endpointsOf(address))));
  expect(await kept.load()).toEqual(endpointsOf('10.0.0.3'));
  expect(await readdir(dir)).toEqual(['endpoints.json']);
});

test('the catalog says when it was last confirmed, and only its user may read it', async () => {
  const file = join(dir, 'catalog.json');
  const kept = createKeptCatalog({ file, namespace: 'models' });
  const objects = [{ where: 'Backend/a', value: { kind: 'Backend' } }];
  await kept.save(objects);
  await kept.confirm(1_780_000_000_000);
  expect(await kept.load()).toEqual({ objects, inStepAt: 1_780_000_000_000 });
  expect((await stat(file)).mode & 0o777).toBe(0o600);
});
