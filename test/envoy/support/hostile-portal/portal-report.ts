import { alignTable } from '../../../../bench/table.ts';
import { type PortalPhaseFigures, portalFailuresIn } from './hostile-portal.ts';

const ms = (value: number): string => (Number.isNaN(value) ? '–' : `${value.toFixed(value < 10 ? 1 : 0)} ms`);

/** The figures as a table, one line a phase, and what failed. */
export function portalReportOf(phases: readonly PortalPhaseFigures[]): string {
  const rows = [
    [
      ...['attacker', 'requests', 'failures', 'p50', 'p99', 'event p99', 'loop p99', 'longest', 'memory'],
      ...['connections', 'readers', 'what became of the attacker'],
    ],
    ...phases.map((figures) => {
      const { phase, neighbours, portal, attacker } = figures;
      const outcomes = Object.entries(attacker).map(([outcome, count]) => `${outcome} ${count}`);
      return [
        ...[phase.name, String(neighbours.requests), String(portalFailuresIn(figures))],
        ...[neighbours.p50Ms, neighbours.p99Ms, neighbours.eventP99Ms].map(ms),
        ...[portal.loopDelayP99Ms, portal.loopDelayLongestMs].map(ms),
        `${Math.round(portal.residentBytes / 2 ** 20)} MiB`,
        ...[String(portal.connections), String(portal.eventReaders), outcomes.join(', ')],
      ];
    }),
  ];
  const failures = phases.flatMap(({ phase, neighbours }) =>
    Object.entries(neighbours.failures).map(([why, count]) => `failed in "${phase.name}": ${count} × ${why}`),
  );
  return [alignTable(rows), ...failures].join('\n');
}
