import { basename } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { cpuMs, isEnvoy, memoryOf, type ProcessInfo, processTree } from './process-usage.ts';
import { alignTable, titles } from './table.ts';
import type { Target } from './target.ts';

export interface IdlePlan {
  /** Until a gateway counts as quiet. */
  readonly settleMs: number;
  readonly countedMs: number;
}

interface IdleProgram {
  readonly target: Target['name'];
  readonly program: string;
  readonly pssBytes: number;
  /** Processor time, ms for each second. */
  readonly msPerSecond: number;
}

/** Memory and processor time of all programs of each target while no requests arrive. The targets are measured side by side. */
export async function measureIdle(
  targets: readonly Target[],
  { settleMs, countedMs }: IdlePlan,
): Promise<readonly IdleProgram[]> {
  await wait(settleMs);
  const trees = await Promise.all(
    targets.map(async ({ name, pid }) => {
      const tree = pid === undefined ? [] : await processTree(pid);
      return tree.map((info) => ({ name, info }));
    }),
  );
  const programs = trees.flat();
  const used = (): Promise<readonly (number | undefined)[]> =>
    Promise.all(programs.map(({ info }) => cpuMs([info.pid])));
  const before = await used();
  await wait(countedMs);
  const after = await used();
  return Promise.all(
    programs.map(async ({ name, info }, at) => ({
      target: name,
      program: nameOf(info),
      pssBytes: (await memoryOf([info.pid]))?.pssBytes ?? NaN,
      msPerSecond: ((after[at] ?? NaN) - (before[at] ?? NaN)) / (countedMs / 1_000),
    })),
  );
}

function nameOf(info: ProcessInfo): string {
  if (isEnvoy(info)) return 'Envoy';
  const words = info.command.split(' ');
  const script = words.findIndex((word) => word.endsWith('.ts'));
  const main = words[script] ?? '';
  return basename(main) === 'main.ts' ? (words[script + 1] ?? main) : basename(main);
}

export function idleText(programs: readonly IdleProgram[]): string {
  const mib = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(0)} MiB`;
  const rows = [...Map.groupBy(programs, ({ target }) => target)].flatMap(([target, all]) => {
    const sum = (read: (program: IdleProgram) => number): number => all.reduce((total, one) => total + read(one), 0);
    return [
      ...all.map((one) => [`${titles[target]}: ${one.program}`, mib(one.pssBytes), `${one.msPerSecond.toFixed(1)} ms`]),
      [
        `${titles[target]}: all`,
        mib(sum(({ pssBytes }) => pssBytes)),
        `${sum((one) => one.msPerSecond).toFixed(1)} ms`,
      ],
    ];
  });
  return alignTable([['idle', 'memory (PSS)', 'processor time a second'], ...rows]);
}
