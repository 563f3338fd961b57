import { alignTable } from '../../../../bench/table.ts';
import { failuresIn, failuresOf, type PhaseFigures } from '../hostile/play-phases.ts';
import type { PortalFigures } from './hostile-portal.ts';

const ms = (value: number): string => (Number.isNaN(value) ? '–' : `${value.toFixed(value < 10 ? 1 : 0)} ms`);

/** The figures as a table, one line a phase, and what failed. */
export function portalReportOf(phases: readonly PhaseFigures<PortalFigures>[]): string {
  const rows = [
    [
      ...['attacker', 'requests', 'failures', 'p50', 'p99', 'event p99', 'loop p99', 'longest', 'memory'],
      ...['connections', 'readers', 'what became of the attacker'],
    ],
    ...phases.map((figures) => {
      const { phase, neighbours, watched: portal, attackers } = figures;
      const outcomes = Object.entries(attackers[phase.name] ?? {}).map(([outcome, count]) => `${outcome} ${count}`);
      return [
        ...[phase.name, String(neighbours.requests), String(failuresIn(figures))],
        ...[neighbours.p50Ms, neighbours.p99Ms, neighbours.eventP99Ms].map(ms),
        ...[portal.loopDelayP99Ms, portal.loopDelayLongestMs].map(ms),
        `${Math.round(portal.residentBytes / 2 ** 20)} MiB`,
        ...[String(portal.connections), String(portal.eventReaders), outcomes.join(', ')],
      ];
    }),
  ];
  return [alignTable(rows), ...failuresOf(phases)].join('\n');
}
