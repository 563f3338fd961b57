import { alignTable } from '../../../../bench/table.ts';
import { failuresIn, failuresOf, type PhaseFigures } from '../hostile/play-phases.ts';
import type { ServiceFigures } from './hostile-run.ts';

type Figures = PhaseFigures<ServiceFigures>;

const ms = (value: number): string => `${value.toFixed(value < 10 ? 1 : 0)} ms`;
const mebibytes = (bytes: number): string => `${Math.round(bytes / 2 ** 20)} MiB`;

/** How many times the quiet p99 that of a phase is. */
export const slowdownOf = (phase: Figures, quiet: Figures): number => phase.neighbours.p99Ms / quiet.neighbours.p99Ms;

/** The figures as a table, what failed, and what became of the attackers. The first phase is the quiet one. */
export function reportOf(phases: readonly Figures[]): string {
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
      const { phase, neighbours, watched: service } = figures;
      return [
        ...[phase.name, String(neighbours.requests), String(failuresIn(figures))],
        ...[ms(neighbours.p50Ms), ms(neighbours.p99Ms), ms(neighbours.maxMs), slowdownOf(figures, quiet).toFixed(2)],
        ...[ms(service.eventLoopDelayP99Ms), ms(service.eventLoopDelayLongestMs)],
        ...[mebibytes(service.serviceBytes), mebibytes(service.envoyBytes)],
      ];
    }),
  ];
  const attackers = phases.flatMap(({ phase, attackers: tally }) =>
    Object.entries(tally).map(([name, outcomes]) => {
      const counts = Object.entries(outcomes).map(([outcome, count]) => `${outcome} ${count}`);
      return `${phase.name}, ${name}: ${counts.join(', ') || 'nothing ended'}`;
    }),
  );
  return [alignTable(rows), '', ...failuresOf(phases), ...attackers].join('\n');
}
