// @suite alone
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { keptHeap } from '../support/kept-heap.ts';
import { longestHold, longestHoldMs } from '../support/loop-delay.ts';
import { startEnvoy } from './support/envoy.ts';
import { at, clustersOf } from './support/give-clusters.ts';
import { forFile } from '../support/for-file.ts';

const backends = 500;
const endpointsEach = 20;
const changesPerSecond = 5;
const mebibyte = 1024 * 1024;

/** What each name resolves to. */
const addresses = new Map<string, readonly string[]>();
let lookUps = 0;

const names = Array.from({ length: backends }, (_, index) => `engine-${index}.svc`);
const addressesOf = (index: number, count: number): readonly string[] =>
  Array.from({ length: count }, (_, nth) => `10.${index >> 8}.${index & 255}.${nth + 1}`);

interface Memory {
  readonly service: number;
  readonly envoy: number;
}
async function memory(): Promise<Memory> {
  const service = keptHeap();
  const { allocated } = JSON.parse(await envoy.admin('/memory')) as { readonly allocated: string };
  return { service, envoy: Number(allocated) };
}

const counts = async (): Promise<readonly unknown[]> => [
  ...(await clusters.admin.statsLike(String.raw`^cluster\.engine-.*\.membership_total$`)).values(),
];

const envoy = await forFile(startEnvoy());
const clusters = await forFile(
  clustersOf(envoy, {
    lookUp: (name) => {
      lookUps += 1;
      return Promise.resolve(addresses.get(name) ?? []);
    },
  }),
);
for (const [index, name] of names.entries()) addresses.set(name, addressesOf(index, endpointsEach));
const before = await memory();
await clusters.give(
  names.map((name) => ({ name, backend: name, endpoints: at(8000, name), tls: { mode: 'Disabled' } })),
);
const after = await memory();

/** Five seconds of changes: of one name after the other, whose last address goes. */
async function changeForAWhile(): Promise<void> {
  for (let count = 0; count < 5 * changesPerSecond; count += 1) {
    changes += 1;
    const index = (changes * 37) % backends;
    addresses.set(names[index] ?? '', addressesOf(index, endpointsEach - 1));
    await sleep(1_000 / changesPerSecond);
  }
}
let changes = 0;

test('five changes a second of 10,000 endpoints hold nothing up', async () => {
  expect(await counts()).toEqual(Array<number>(backends).fill(endpointsEach));
  let cpuMs = 0;
  const shortestHold = await longestHold(async () => {
    const used = process.threadCpuUsage();
    await changeForAWhile();
    const { user, system } = process.threadCpuUsage(used);
    cpuMs = (user + system) / 1000;
  });
  // Each name is looked up every 5 s.
  const remaining = backends * endpointsEach - changes;
  await expect
    .poll(async () => (await counts()).reduce((sum: number, count) => sum + Number(count), 0))
    .toBe(remaining);
  expect(names.reduce((sum, name) => sum + clusters.table.of(name).length, 0)).toBe(remaining);
  const toMib = (part: keyof Memory): number => Math.round((after[part] - before[part]) / mebibyte);
  console.log(
    `${backends} names of ${endpointsEach} addresses: ${toMib('service')} MiB of the service, ${toMib('envoy')} MiB of Envoy; ` +
      `${changes} changes and ${lookUps} look-ups: ${cpuMs.toFixed(0)} ms of processor time in 5 s, ` +
      `the event loop held up for ${Math.max(0, shortestHold).toFixed(1)} ms at the most`,
  );
  expect(shortestHold).toBeLessThan(longestHoldMs);
});
