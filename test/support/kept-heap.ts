import { findCollector } from '../../src/process/collect-garbage.ts';

const collect = findCollector();

/** Collects the garbage of this process. What one collection finalises, the next one frees. */
export function collectGarbage(): void {
  collect({ type: 'major' });
}

/** Bytes of this process's heap that are still needed. */
export function keptHeap(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}
