import { useMemo } from 'react';
import { periodsOf, type UsageFilter, useUsage } from '../data/usage.ts';
import { Loaded } from '../parts/states.tsx';
import { UsageCharts } from './usage-charts.tsx';

/** The last 24 hours by model, as the page Usage shows them. */
export function RecentCost({ filter }: { readonly filter: UsageFilter }) {
  const totals = useUsage(filter, ['hour']);
  const groups = useUsage(filter, ['model']);
  const { from } = filter;
  const periods = useMemo(() => periodsOf('24h', new Date(from).getTime() + 23 * 3_600_000), [from]);
  return (
    <Loaded query={totals} lines={8}>
      {({ data: lines }) => (
        <Loaded query={groups} lines={8}>
          {({ data }) =>
            data.length === 0 ? null : (
              <UsageCharts filter={filter} period="hour" periods={periods} totals={lines} by="model" groups={data} />
            )
          }
        </Loaded>
      )}
    </Loaded>
  );
}
