import type { PhaseFigures } from './hostile-run.ts';

const ms = (value: number): string => `${value.toFixed(value < 10 ? 1 : 0)} ms`;
const mebibytes = (bytes: number): string => `${Math.round(bytes / 2 ** 20)} MiB`;

/** Failed requests of a phase. */
export const failuresIn = ({ neighbours }: PhaseFigures): number =>
  Object.values(neighbours.failures).reduce((sum, count) => sum + count, 0);

/** How many times the quiet p99 that of a phase is. */
export const slowdownOf = (phase: PhaseFigures, quiet: PhaseFigures): number =>
  phase.neighbours.p99Ms / quiet.neighbours.p99Ms;

/** The figures as a table, what failed, and what became of the attackers. The first phase is the quiet one. */
export function reportOf(phases: readonly PhaseFigures[]): string {
  const [quiet] = phases;
  if (quiet === undefined) return 'nothing was measured';
  const rows = [
    [
      'neighbours',
      'requests',
      'failures',
      'p50',
      'p99',
      'longest',
      'p99 : quiet',
      'event loop p99',
      'longest',
      'service',
      'Envoy',
    ],
    ...phases.map((figures) => {
      const { phase, neighbours, service } = figures;
      return [
        ...[phase.name, String(neighbours.requests), String(failuresIn(figures))],
        ...[ms(neighbours.p50Ms), ms(neighbours.p99Ms), ms(neighbours.maxMs), slowdownOf(figures, quiet).toFixed(2)],
        ...[ms(service.eventLoopDelayP99Ms), ms(service.eventLoopDelayLongestMs)],
        ...[mebibytes(service.serviceBytes), mebibytes(service.envoyBytes)],
      ];
    }),
  ];
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  const table = rows.map((row) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  '),
  );
  const failures = phases.flatMap(({ phase, neighbours }) =>
    Object.entries(neighbours.failures).map(([why, count]) => `failed in "${phase.name}": ${count} × ${why}`),
  );
  const attackers = phases.flatMap(({ phase, attackers: tally }) =>
    Object.entries(tally).map(([name, outcomes]) => {
      const counts = Object.entries(outcomes).map(([outcome, count]) => `${outcome} ${count}`);
      return `${phase.name}, ${name}: ${counts.join(', ') || 'nothing ended'}`;
    }),
  );
  return [...table, '', ...failures, ...attackers].join('\n');
}
