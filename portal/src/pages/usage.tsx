import { Link } from 'wouter';
import { useAddress } from '../data/address.ts';
import { withQuery } from '../data/api.ts';
import { useSession } from '../data/session.ts';
import {
  groupings,
  mostInChart,
  mostInTable,
  type UsageFilter,
  useMinute,
  usagePath,
  useTagNames,
  useUsage,
} from '../data/usage.ts';
import { ranges, timeOf } from '../data/usage-range.ts';
import { useAskedWorkspace, useChosenWorkspace } from '../data/workspaces.ts';
import { Download } from '../parts/download.tsx';
import { Page } from '../parts/page.tsx';
import { Empty, Loaded } from '../parts/states.tsx';
import { UsageCharts } from './usage-charts.tsx';
import { isOfHours, UsageFilters } from './usage-filters.tsx';
import { UsageGroups, useMonths } from './usage-groups.tsx';
import { UsageTotals } from './usage-totals.tsx';

/** Usage and cost, over time and in sum. The address has the selection. */
export function UsagePage() {
  const session = useSession();
  const now = useMinute();
  const workspace = useAskedWorkspace();
  const [{ range: givenRange, by: givenBy, first, last, key, model, tag: givenTag }] = useAddress();
  const by = groupings.find((one) => one === givenBy) ?? 'model';
  const asked = ranges.find((one) => one === givenRange) ?? '7d';
  const range = by === 'tag' && isOfHours(asked) ? '7d' : asked;
  const time = timeOf(range, now, { first, last });
  const { from, to, period, month, beforeName } = time;
  const filter: UsageFilter = { from, to, workspace, key, model };
  // All reports start to load at once.
  const totals = useUsage(filter, [period]);
  const tagNames = useTagNames(workspace, session.role !== 'key');
  const tag = by === 'tag' ? (givenTag ?? tagNames[0]?.name) : undefined;
  // Until the names of tags are known, no report by tag is read.
  const byGroup = by === 'tag' && tag === undefined ? { ...filter, workspace: null } : { ...filter, tag };
  const grouped = useUsage(byGroup, [period, by], mostInChart);
  const groups = useUsage(byGroup, [by], mostInTable);
  const months = useMonths({ filter, byGroup, by, time });
  const table = <Loaded query={groups}>{(usage) => <UsageGroups usage={usage} months={months} />}</Loaded>;
  return (
    <Page
      title="Usage"
      about={`Days in UTC${range === 'today' ? ', but today is yours' : ''}. Compared with ${beforeName}.`}
      actions={
        <>
          {month !== undefined && <StatementLink month={month} />}
          <Download
            path={usagePath({ filter: byGroup, by: [period, by], top: undefined })}
            file={`usage-${from.slice(0, 10)}.csv`}
          />
        </>
      }
    >
      <UsageFilters range={range} time={time} by={by} tag={tag} tagNames={tagNames} />
      <Loaded query={totals} shape={month === undefined ? 'figures' : undefined} lines={5}>
        {(sums) =>
          sums.lines.length === 0 ? (
            <Empty title="No usage in this time">Requests appear here as soon as they end.</Empty>
          ) : (
            <>
              {month !== undefined && table}
              <UsageTotals filter={filter} time={time} />
              <Loaded query={grouped} shape="columns" lines={4}>
                {(some) => <UsageCharts totals={sums} grouped={some} now={now} />}
              </Loaded>
              {month === undefined && table}
            </>
          )
        }
      </Loaded>
    </Page>
  );
}

/** Leads to the statement of a month, of the one workspace that the page shows. */
function StatementLink({ month }: { readonly month: string }) {
  const session = useSession();
  const asked = useAskedWorkspace();
  const workspace = useChosenWorkspace();
  if (session.role === 'key' || !asked || workspace === undefined) return null;
  return (
    <Link className="button" href={withQuery('/balance', { workspace: workspace.name, statement: month })}>
      Statement of {workspace.name}
    </Link>
  );
}
