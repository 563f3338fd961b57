import { findCollector } from '../../src/process/collect-garbage.ts';

const collect = findCollector();

/** Collects the garbage of this process. */
export function collectAll(): void {
  collect({ type: 'major' });
  // What the first round finalises, the second one frees.
  collect({ type: 'major' });
}

/** Bytes of this process's heap that are still needed. */
export function keptHeap(): number {
  collectAll();
  return process.memoryUsage().heapUsed;
}
