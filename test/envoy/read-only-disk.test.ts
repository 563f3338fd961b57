import { afterEach, expect, test } from 'vitest';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rowsIn } from '../support/ledger-on-disk.ts';
import { metricIn } from '../support/metric-in.ts';
import { runWeir } from '../support/run-weir.ts';
import { chat, newDataFolder, removeStarts, start } from '../support/start.ts';
import { backendManifest, modelManifest } from '../support/weir.ts';
import { type FailingDisk, mountFailingDisk } from './support/failing-disk.ts';
import { type SpawnedEngine, spawnProgrammableEngine } from './support/spawn-programmable-engine.ts';

// A real file system that becomes read-only while Weir runs, as ext4 does after an error of its disk, where this user may mount one.
// src/books/store/outage.test.ts does it without one.

let disk: FailingDisk | undefined;
let engine: SpawnedEngine | undefined;
afterEach(async () => {
  disk?.remove();
  await removeStarts();
  await engine?.close();
});

const answer = (words: number, tokenDelayMs: number): string =>
  `Go on. [[demo ${JSON.stringify({ words, tokenDelayMs })}]]`;

test('a disk that becomes read-only: what cannot be billed is refused, and every answer that ended well has its bill', async ({
  skip,
}) => {
  const data = newDataFolder();
  disk = mountFailingDisk(data);
  skip(disk === undefined, 'this user may not mount a disk');
  engine = await spawnProgrammableEngine({ reasoning: 'never' });
  const manifests = newDataFolder();
  const catalog = backendManifest('of-test', engine) + modelManifest('test/model', ['of-test']);
  writeFileSync(join(manifests, 'catalog.yaml'), catalog);
  const weir = async (...args: readonly string[]): Promise<unknown> => {
    const { code, stdout, stderr } = await runWeir([...args, '--json', '--data', data]);
    expect([code, stderr]).toEqual([0, '']);
    return JSON.parse(stdout);
  };
  const gateway = await start(['--manifests', manifests], { data });
  await weir('workspace', 'create', 'billed', '--credit', '10');
  const { key } = (await weir('key', 'create', '--workspace', 'billed')) as { readonly key: string };
  const open = ({ baseUrl }: typeof gateway, content: string, stream = false) =>
    chat({ baseUrl, key }, { model: 'test/model', content, stream });
  const ask = async (of = gateway): Promise<number> => (await open(of, answer(3, 0))).status;
  const asked = async (): Promise<number> =>
    metricIn(await (await fetch(gateway.opsUrl)).text(), 'weir_attempts_total', {});

  expect(await ask()).toBe(200);
  const stream = await open(gateway, answer(50, 20), true);
  expect(stream.status).toBe(200);
  disk?.fail();
  const text = await stream.text();
  // Its bill could not be written.
  expect(text).toContain('"code":"stream_interrupted"');

  const before = await asked();
  for (let count = 0; count < 5; count += 1) expect(await ask()).toBe(503);
  expect(await asked()).toBe(before);
  await gateway.said(/Problem: journal: Cannot be written \(EROFS.*new requests are refused with 503/);
  expect((await gateway.stop()).code).toBe(0);

  disk?.repair();
  expect(await rowsIn(data)).toBe(1);
  const again = await start(['--manifests', manifests], { data });
  expect(await ask(again)).toBe(200);
  expect((await again.stop()).code).toBe(0);
  expect(await rowsIn(data)).toBe(2);
  expect(await weir('ledger', 'verify')).toMatchObject({ ok: true });
});
