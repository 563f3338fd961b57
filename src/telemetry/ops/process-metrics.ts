import { statSync } from 'node:fs';
import { release } from 'node:os';
import { collectDefaultMetrics, type Registry } from 'prom-client';
import { countsOpenFiles, openFilesFolder } from '../../core/open-files.ts';
import { gaugesOf } from './declare.ts';

/** Gauges that are named like counters: `promtool check metrics` refuses them. `process_open_fds` has their value. */
const misnamed = /^nodejs_active_/;

const openFiles = 'process_open_fds';

/**
 * Adds the metrics of this process, with the usual names: processor time, memory, event loop, collections of garbage. The
 * library lists all open files in each scrape, and makes an object for each open connection. With 2,200 streams that held
 * the event loop for 8 ms. So the open files are counted by the size of their folder where the kernel has it.
 */
export function addProcessMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry });
  for (const { name } of registry.getMetricsAsArray()) if (misnamed.test(name)) registry.removeSingleMetric(name);
  if (!countsOpenFiles(process.platform, release())) return;
  registry.removeSingleMetric(openFiles);
  gaugesOf(registry)(openFiles, 'Number of open file descriptors.', () => statSync(openFilesFolder).size);
}
