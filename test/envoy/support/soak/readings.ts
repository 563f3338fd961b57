import { join } from 'node:path';
import { runFolder } from '../../../../src/control/envoy/config/run-folder.ts';
import { memoryOf } from '../../../../bench/process-usage.ts';
import { metricIn } from '../../../support/metric-in.ts';
import { askAdmin } from '../../../support/weir.ts';
import { figuresOf } from '../process-figures.ts';
import type { Bound } from './growth.ts';
import { untilTrue } from '../../../play/disasters.ts';
import type { SoakWorld } from './soak-world.ts';

/** A figure that is read of a process at rest: its unit, and which growth is one. */
export interface Figure extends Bound {
  readonly unit: 'MiB' | 'ms' | '';
}

const mebibyte = 2 ** 20;
const share = 0.05;

export const figures = {
  /** What the heap and its buffers hold after a collection; of Envoy what its allocator has given out. */
  'kept memory': { unit: 'MiB', share, resolution: 0.5 },
  resident: { unit: 'MiB', share, resolution: 2 },
  /** Pages that are shared count by their share. */
  proportional: { unit: 'MiB', share, resolution: 2 },
  descriptors: { unit: '', share, resolution: 2 },
  connections: { unit: '', share, resolution: 2 },
  keys: { unit: '', share, resolution: 10 },
  'probe p50': { unit: 'ms', share, resolution: 0.2 },
  'probe p99': { unit: 'ms', share, resolution: 1 },
  'p50 in the storm': { unit: 'ms', share, resolution: 1 },
  'without the gateway': { unit: 'ms', share: Infinity, resolution: 0 },
} as const satisfies Readonly<Record<string, Figure>>;

/** One figure of one process. */
export interface Reading {
  readonly of: string;
  readonly figure: keyof typeof figures;
  readonly value: number;
}

/** Has each service collect its garbage, and reads what it keeps. */
async function keptMemory({ gateway, gateways: { metrics } }: SoakWorld): Promise<readonly Reading[]> {
  const collections = (text: string): number => metricIn(text, 'nodejs_gc_duration_seconds_count{kind="major"}');
  const before = await metrics();
  for (let number = 1; number <= before.length; number += 1) {
    const pid = gateway.processes()[`service ${number}`];
    if (pid === undefined) throw new Error(`service ${number} is away`);
    process.kill(pid, 'SIGUSR2');
  }
  await untilTrue('garbage is collected', async () =>
    (await metrics()).every((text, index) => collections(text) > collections(before[index] ?? '')),
  );
  return (await metrics()).map((text, index) => ({
    of: `service ${index + 1}`,
    figure: 'kept memory',
    value: (metricIn(text, 'nodejs_heap_size_used_bytes') + metricIn(text, 'nodejs_external_memory_bytes')) / mebibyte,
  }));
}

/** Reads what every process of the gateway holds, and what the gateway holds at PostgreSQL and Valkey. */
export async function readProcesses(world: SoakWorld): Promise<readonly Reading[]> {
  const { gateway, postgres, valkey, databaseName } = world;
  const readings: Reading[] = [...(await keptMemory(world))];
  const { allocated } = JSON.parse(await askAdmin(runFolder(join(gateway.data, 'run')).adminSocket, '/memory')) as {
    readonly allocated: string;
  };
  readings.push({ of: 'Envoy', figure: 'kept memory', value: Number(allocated) / mebibyte });
  for (const [name, pid] of Object.entries(gateway.processes())) {
    const { descriptors, residentBytes } = figuresOf(pid);
    const { pssBytes = Number.NaN } = (await memoryOf([pid])) ?? {};
    readings.push(
      { of: name, figure: 'resident', value: residentBytes / mebibyte },
      { of: name, figure: 'proportional', value: pssBytes / mebibyte },
      { of: name, figure: 'descriptors', value: descriptors },
    );
  }
  const [open] = await postgres.query<{ readonly count: string }>(
    `select count(*) from pg_stat_activity where datname = '${databaseName}'`,
  );
  readings.push({ of: 'PostgreSQL', figure: 'connections', value: Number(open?.count) });
  const keys = await valkey.ask((client) => client.dbsize());
  readings.push({ of: 'Valkey', figure: 'keys', value: keys });
  return readings;
}
