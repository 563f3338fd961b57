import { mostInChart, type UsageFilter, useUsage } from '../data/usage.ts';
import { Loaded } from '../parts/states.tsx';
import { UsageCharts } from './usage-charts.tsx';

/** The cost of the last 24 hours by model, with the charts of the page Usage. */
export function RecentCost({ filter, now }: { readonly filter: UsageFilter; readonly now: number }) {
  const totals = useUsage(filter, ['hour']);
  const grouped = useUsage(filter, ['hour', 'model'], mostInChart);
  return (
    <Loaded query={totals} lines={8}>
      {(sums) => (
        <Loaded query={grouped} lines={8}>
          {(groups) => (groups.lines.length === 0 ? null : <UsageCharts totals={sums} grouped={groups} now={now} />)}
        </Loaded>
      )}
    </Loaded>
  );
}
