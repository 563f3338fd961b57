import { closeSync, openSync, readdirSync } from 'node:fs';
import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { countsOpenFiles } from '../../core/open-files.ts';
import { addProcessMetrics } from './process-metrics.ts';

it.runIf(process.platform === 'linux')('the open files are counted', async () => {
  const registry = new Registry();
  addProcessMetrics(registry);
  const count = async (): Promise<number> => {
    const metric = await registry.getSingleMetric('process_open_fds')?.get();
    return metric?.values[0]?.value ?? 0;
  };
  const before = await count();
  // Reading the folder opens it.
  expect(before).toBe(readdirSync('/proc/self/fd').length - 1);
  const opened = Array.from({ length: 20 }, () => openSync('/dev/null', 'r'));
  const during = await count();
  for (const file of opened) closeSync(file);
  expect(during).toBe(before + 20);
});

it('no metric has the name of a counter and is none, and none lists open connections', async () => {
  const registry = new Registry();
  addProcessMetrics(registry);
  const names = registry.getMetricsAsArray().map(({ name }) => name);
  expect(names.filter((name) => name.startsWith('nodejs_active_'))).toEqual([]);
  expect(names).toEqual([...new Set(names)]);
  expect(names).toContain('process_resident_memory_bytes');
  if (process.platform === 'linux')
    expect(names).toEqual(expect.arrayContaining(['process_open_fds', 'process_max_fds']));
});

it.each([
  ['linux', '6.2.0', true],
  ['linux', '6.18.44-x', true],
  ['linux', '7.0', true],
  ['linux', '6.1.99', false],
  ['linux', '5.15.0-100-generic', false],
  ['darwin', '24.1.0', false],
] as const)('the size of the folder is their number: %s %s', (platform, kernel, expected) => {
  expect(countsOpenFiles(platform, kernel)).toBe(expected);
});

it('a turn of the event loop is a sample, since the last scrape, and waiting is none', async () => {
  const registry = new Registry();
  addProcessMetrics(registry);
  const figures = async (): Promise<ReadonlyMap<string, number>> =>
    new Map((await registry.getMetricsAsJSON()).map(({ name, values }) => [name, values[0]?.value ?? NaN]));
  const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  await nextTurn();
  await figures();
  for (const end = performance.now() + 60; performance.now() < end;);
  await nextTurn();
  await nextTurn();
  const busy = await figures();
  expect(busy.get('nodejs_eventloop_lag_max_seconds')).toBeGreaterThan(0.06);
  expect(busy.get('nodejs_eventloop_lag_min_seconds')).toBeLessThanOrEqual(
    busy.get('nodejs_eventloop_lag_p50_seconds') ?? 0,
  );
  await nextTurn();
  expect((await figures()).get('nodejs_eventloop_lag_max_seconds')).toBeLessThan(0.06);
});
