import { statSync } from 'node:fs';
import { release } from 'node:os';
import { type Histogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { collectDefaultMetrics, type Registry } from 'prom-client';
import { countsOpenFiles, openFilesFolder } from '../../core/open-files.ts';
import { gaugesOf } from './declare.ts';

/** Gauges that are named like counters: `promtool check metrics` refuses them. `process_open_fds` has their value. */
const misnamed = /^nodejs_active_/;

const openFiles = 'process_open_fds';

/** The longest delay that a timer takes: the library's histogram of the event loop would wake a quiet process 100 times a second. */
const neverMs = 2 ** 31 - 1;

/** The library's names of the figures of the event loop, and what each is of the histogram. The first one is collected first. */
const loopFigures = [
  ['min', 'Shortest', ({ min }) => min],
  ['max', 'Longest', ({ max }) => max],
  ['mean', 'Average', ({ mean }) => mean],
  ['stddev', 'Standard deviation of the', ({ stddev }) => stddev],
  ['p50', 'Median', (turns) => turns.percentile(50)],
  ['p90', '90th percentile of the', (turns) => turns.percentile(90)],
  ['p99', '99th percentile of the', (turns) => turns.percentile(99)],
] as const satisfies readonly (readonly [string, string, (turns: Histogram) => number])[];

/**
 * Adds the metrics of this process, with the usual names: processor time, memory, event loop, collections of garbage. The
 * library lists all open files in each scrape, and makes an object for each open connection. With 2,200 streams that held
 * the event loop for 8 ms. So the open files are counted by the size of their folder where the kernel has it.
 */
export function addProcessMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: neverMs });
  for (const { name } of registry.getMetricsAsArray()) if (misnamed.test(name)) registry.removeSingleMetric(name);
  addLoopFigures(registry);
  if (!countsOpenFiles(process.platform, release())) return;
  registry.removeSingleMetric(openFiles);
  gaugesOf(registry)(openFiles, 'Number of open file descriptors.', () => statSync(openFilesFolder).size);
}

/**
 * The figures of the event loop since the last scrape. A sample is the time that one turn of the loop has worked: an event that
 * became ready at its beginning was handled so much later. Sampling takes no timer.
 */
function addLoopFigures(registry: Registry): void {
  const turns = monitorEventLoopDelay({ samplePerIteration: true });
  turns.enable();
  let figures: readonly number[] = [];
  for (const [index, [name, what]] of loopFigures.entries()) {
    const metric = `nodejs_eventloop_lag_${name}_seconds`;
    registry.removeSingleMetric(metric);
    gaugesOf(registry)(metric, `${what} turn of the event loop.`, () => {
      if (index === 0) {
        figures = loopFigures.map(([, , read]) => (turns.count === 0 ? 0 : read(turns) / 1e9));
        turns.reset();
      }
      return figures[index] ?? 0;
    });
  }
}
