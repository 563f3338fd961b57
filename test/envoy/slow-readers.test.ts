// @suite long
/** Many readers at once who take their answers slowly or not at all. */
import { expect, onTestFinished, test } from 'vitest';
import { runWeir } from '../support/run-weir.ts';
import { quantile } from '../support/quantile.ts';
import { backendManifest, modelManifest, startWeir } from '../support/weir.ts';
import { collectsGarbage, memoryInUse } from './support/memory-in-use.ts';
import { openSlowReader } from './support/slow-reader.ts';
import { spawnProgrammableEngine } from './support/spawn-programmable-engine.ts';
import { forFile } from '../support/for-file.ts';

const workspaces = 4;
const readersEach = 50;
const readers = workspaces * readersEach;
const mebibyte = 1024 * 1024;

/** Of each twenty readers two go on in the end. The others leave. */
const goesOn = (index: number): boolean => index % 20 < 2;
/** Both are longer than what Envoy and the kernel take for a reader who stops. */
const answerBytes = 8_000_000;
const neverReadBytes = 100_000_000;
/** Each token of the engine has so many bytes here. */
const tokenBytes = 8;

/**
 * What is measured of 1,000 readers is 64 MiB for all of them and half a MiB each. Without a total for all, Envoy alone held
 * 1.9 MiB for each.
 */
const boundBytes = 64 * mebibyte + readers * mebibyte;

const engine = await forFile(spawnProgrammableEngine({ reasoning: 'never' }));
const others = await forFile(spawnProgrammableEngine({ reasoning: 'never' }));
// A reader who leaves is billed for all that was delivered, which is at most one context.
const long = modelManifest('test/long', ['long']).replace('contextLength: 131072', 'contextLength: 100000000');
const catalog = [backendManifest('long', engine), long, backendManifest('short', others)].join('');
const weir = await forFile(
  startWeir({
    env: collectsGarbage,
    unlimited: true,
    manifests: { 'catalog.yaml': catalog + modelManifest('test/short', ['short']) },
  }),
);
const keys = await Promise.all(Array.from({ length: workspaces }, (_, index) => keyOf(`slow-${index}`)));

async function keyOf(workspace: string): Promise<string> {
  const run = async (...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await runWeir([...args, '--json', '--data', weir.data]);
    if (code !== 0) throw new Error(stderr);
    return stdout;
  };
  await run('workspace', 'create', workspace, '--credit', '1000');
  return (JSON.parse(await run('key', 'create', '--workspace', workspace)) as { readonly key: string }).key;
}

const ask = (model: string, directive: object) => ({
  ...{ model, stream: true },
  messages: [{ role: 'user', content: `Go on. [[demo ${JSON.stringify(directive)}]]` }],
});

/** Callers who ask one short question after the other. */
function askAlong() {
  const served: { readonly status: number; readonly ms: number }[] = [];
  let isOver = false;
  const along = async (): Promise<void> => {
    while (!isOver) {
      const begun = performance.now();
      const response = await weir.chat(ask('test/short', { words: 3 }));
      const text = await response.text();
      served.push({ status: text.includes('[DONE]') ? response.status : 0, ms: performance.now() - begun });
    }
  };
  const running = [along(), along()];
  return {
    /** Resolves when this many more have been served. */
    more: async (count: number): Promise<void> => {
      const until = served.length + count;
      await expect.poll(() => served.length).toBeGreaterThanOrEqual(until);
    },
    end: async () => {
      isOver = true;
      await Promise.all(running);
      return served;
    },
  };
}

async function inUse(): Promise<number> {
  const { service, envoy } = await memoryInUse(weir);
  return service + envoy;
}

test(`${readers} slow readers cost a bounded memory, delay no others, and pay for what was delivered`, async () => {
  const warm = openSlowReader({ ...weir, key: weir.key }, ask('test/long', { bytes: answerBytes }));
  expect(await warm.readOn()).toContain('[DONE]');
  const before = await inUse();
  const along = askAlong();

  const opened = Array.from({ length: readers }, (_, index) => {
    const bytes = goesOn(index) ? answerBytes : neverReadBytes;
    return openSlowReader({ ...weir, key: keys[index % workspaces] ?? '' }, ask('test/long', { bytes }));
  });
  expect(new Set(await Promise.all(opened.map(({ begun }) => begun)))).toEqual(new Set([200]));
  // Half of them take a few bytes a second, half take nothing.
  const dripping = opened.filter((_, index) => index % 2 === 0);
  const drip = setInterval(() => {
    for (const reader of dripping) reader.takeSome();
  }, 1000);
  onTestFinished(async () => {
    clearInterval(drip);
    for (const reader of opened) reader.leave();
    await along.end();
  });
  const staying = opened.filter((_, index) => goesOn(index));
  const leaving = opened.filter((_, index) => !goesOn(index));
  await along.more(200);
  expect(await engine.openRequests()).toBeGreaterThanOrEqual(leaving.length);
  await expect.poll(async () => (await inUse()) - before, { interval: 500 }).toBeLessThan(boundBytes);
  const { service, envoy } = await memoryInUse(weir);
  const each = (service + envoy - before) / readers / 1024;
  await along.more(100);
  expect(await engine.openRequests()).toBeGreaterThanOrEqual(leaving.length);

  clearInterval(drip);
  for (const reader of leaving) reader.leave();
  for (const tail of await Promise.all(staying.map((reader) => reader.readOn()))) expect(tail).toContain('[DONE]');

  const served = await along.end();
  expect(new Set(served.map(({ status }) => status))).toEqual(new Set([200]));
  await weir.settled();
  expect(await engine.openRequests()).toBe(0);
  const rows = (await weir.ledger()).filter(({ workspace }) => String(workspace).startsWith('slow-'));
  const tokens = (outcome: string): readonly number[] =>
    rows.filter((row) => row['outcome'] === outcome).map((row) => Number(row['completion_tokens']));
  expect(tokens('completed')).toEqual(staying.map(() => answerBytes / tokenBytes));
  expect(tokens('cancelled').length).toBe(leaving.length);
  expect(rows.length).toBe(readers);
  for (const count of tokens('cancelled')) {
    expect(count).toBeGreaterThan(0);
    expect(count).toBeLessThan(neverReadBytes / tokenBytes);
  }
  const p99 = quantile(
    served.map(({ ms }) => ms),
    0.99,
  );
  const paid = (tokens('cancelled').reduce((sum, count) => sum + count, 0) * tokenBytes) / leaving.length / mebibyte;
  console.log(
    `${readers} readers: ${Math.round(each)} KiB each in use; ${served.length} others served, p99 ${Math.round(p99)} ms; who left pays for ${paid.toFixed(2)} MiB on average`,
  );
});
