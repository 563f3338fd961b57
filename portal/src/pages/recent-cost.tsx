import { Link } from 'wouter';
import type { UsageLineObject } from '../../../src/portal/api/usage.ts';
import { mostInChart, type UsageFilter, useUsage } from '../data/usage.ts';
import { formatCount, formatMoney } from '../format/format.ts';
import { Card } from '../parts/page.tsx';
import { Loaded } from '../parts/states.tsx';
import { UsageCharts } from './usage-charts.tsx';

/** Hours with requests that a chart needs. Fewer would be points at the edge of an empty chart. */
const fewestHours = 3;

/** The cost of the last 24 hours by model, with the charts of the page Usage. Little data is a sentence. */
export function RecentCost({ filter, now }: { readonly filter: UsageFilter; readonly now: number }) {
  const totals = useUsage(filter, ['hour']);
  const grouped = useUsage(filter, ['hour', 'model'], mostInChart);
  return (
    <Loaded query={totals} shape="columns" lines={4}>
      {(sums) =>
        sums.lines.length < fewestHours ? (
          <LittleUsage lines={sums.lines} />
        ) : (
          <Loaded query={grouped} shape="columns" lines={4}>
            {(groups) => <UsageCharts totals={sums} grouped={groups} now={now} />}
          </Loaded>
        )
      }
    </Loaded>
  );
}

function LittleUsage({ lines }: { readonly lines: readonly UsageLineObject[] }) {
  const requests = lines.reduce((sum, line) => sum + line.requests, 0);
  const cost = lines.reduce((sum, line) => sum + Number(line.cost), 0);
  return (
    <Card title="The last 24 hours">
      {requests === 0 ? (
        <p>
          No request ended in the last 24 hours. <Link href="/usage?range=30d">Usage of 30 days</Link>
        </p>
      ) : (
        <p>
          {requests === 1 ? 'One request' : `${formatCount(requests)} requests`} for {formatMoney(cost)}. Charts appear
          when there are requests in {fewestHours} different hours.
        </p>
      )}
    </Card>
  );
}
