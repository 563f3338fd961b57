import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Bytes of this process's heap that are still needed. */
export function keptHeap(): number {
  collect();
  return process.memoryUsage().heapUsed;
}
