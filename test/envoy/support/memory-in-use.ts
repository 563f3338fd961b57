import { expect } from 'vitest';
import type { Weir } from '../../support/weir.ts';
import { untilHolds } from '../../support/until-holds.ts';

/** The environment of a service that collects its garbage when `memoryInUse` asks it to. */
export const collectsGarbage = { NODE_OPTIONS: `--import=${import.meta.resolve('./collect-garbage.ts')}` };

/** Bytes that are not garbage: of the service's heap and its buffers, and of Envoy's heap. Freed memory stays with both allocators, so resident sets say less. */
export async function memoryInUse(
  weir: Pick<Weir, 'metric' | 'pid' | 'admin'>,
): Promise<{ readonly service: number; readonly envoy: number }> {
  const collections = (): Promise<number> => weir.metric('nodejs_gc_duration_seconds_count{kind="major"}');
  const before = await collections();
  process.kill(weir.pid('service'), 'SIGUSR2');
  await untilHolds(async () => expect(await collections()).toBeGreaterThan(before));
  const heap = await weir.metric('nodejs_heap_size_used_bytes');
  const buffers = await weir.metric('nodejs_external_memory_bytes');
  const { allocated } = JSON.parse(await weir.admin('/memory')) as { readonly allocated: string };
  return { service: heap + buffers, envoy: Number(allocated) };
}
