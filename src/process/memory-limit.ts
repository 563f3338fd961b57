import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';

/**
 * What the service's heap and buffers may hold: half of what a container, or else the machine, has, because Envoy lives there,
 * too; and no more than the collector allows.
 */
export function memoryLimitBytes(): number {
  const constrained = process.constrainedMemory();
  const all = constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
  return Math.min(all / 2, getHeapStatistics().heap_size_limit);
}
