import { Link } from 'wouter';
import type { KeyObject } from '../../../src/portal/api/keys.ts';
import { type Page as ListPage, withQuery } from '../data/api.ts';
import { useRead } from '../data/calls.ts';
import { useEvents } from '../data/events.ts';
import { useMay } from '../data/rights.ts';
import { useSession } from '../data/session.ts';
import { keyState } from '../data/states.ts';
import { useThrottled } from '../data/throttled.ts';
import { useMinute, useUsage } from '../data/usage.ts';
import { beginningOf, type Range, timeOf } from '../data/usage-range.ts';
import {
  formatCount,
  formatMoney,
  formatMs,
  formatShare,
  formatZonedMoment,
  orUnknown,
  unknown,
} from '../format/format.ts';
import { StateBadge } from '../parts/badge.tsx';
import { Card, Facts, Figure, Page } from '../parts/page.tsx';
import { Loaded } from '../parts/states.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { useAskedWorkspace } from '../data/workspaces.ts';
import { WorkspaceSelect } from '../parts/workspace-select.tsx';
import { CurrentProblems } from './current-problems.tsx';
import { BudgetBar } from './budget-bar.tsx';
import { RecentCost } from './recent-cost.tsx';

const refreshMs = 5_000;

/** Cost, traffic and current problems. */
export function OverviewPage() {
  const session = useSession();
  const now = useMinute();
  const workspace = useAskedWorkspace();
  const day = timeOf('today', now).from;
  const month = timeOf('month', now).from;
  const today = useUsage({ from: day, workspace });
  const thisMonth = useUsage({ from: month, workspace });
  // Reads the sums again after a request ended, but under load only once in a few seconds.
  const refresh = useThrottled(refreshMs, () => {
    void today.refetch();
    void thisMonth.refetch();
  });
  useEvents({ request: refresh });
  const usageOf = (range: Range): string => withQuery('/usage', { range, workspace: workspace ?? undefined });
  const requestsOf = (outcome: 'error' | 'settled'): string =>
    withQuery('/requests', { from: day, outcome, workspace: workspace ?? undefined });
  return (
    <Page
      title="Overview"
      about={session.role === 'key' ? 'Usage and limits of this key.' : 'Cost, traffic and current problems.'}
    >
      {session.role !== 'key' && (
        <>
          <CurrentProblems isAdmin={session.role === 'admin'} />
          <div className="filters">
            <WorkspaceSelect all />
          </div>
          <SpentKeys />
        </>
      )}
      {session.key_id !== null && <OwnKey id={session.key_id} />}
      <Loaded query={today} shape="figures" lines={5}>
        {({ lines: [line] }) => (
          <div className="figures">
            <Figure label="Spend today" value={formatMoney(line?.cost ?? 0)} href={usageOf('today')} />
            <Figure
              label="Spend this month"
              value={thisMonth.data === undefined ? unknown : formatMoney(thisMonth.data.lines[0]?.cost ?? 0)}
              href={usageOf('month')}
            />
            <Figure label="Requests today" value={formatCount(line?.requests ?? 0)} href={requestsOf('settled')} />
            <Figure
              label="Errors today"
              value={formatCount(line?.errors ?? 0)}
              note={
                line === undefined || line.requests === 0
                  ? undefined
                  : `${formatShare(line.errors / line.requests)} of all`
              }
              href={requestsOf('error')}
            />
            <Figure
              label="Time to first token"
              value={orUnknown(line?.first_token_p50_ms, formatMs)}
              note={
                line?.first_token_p95_ms ? `median today; p95 ${formatMs(line.first_token_p95_ms)}` : 'median today'
              }
              href={usageOf('today')}
            />
          </div>
        )}
      </Loaded>
      <RecentCost filter={{ from: beginningOf('24h', now), workspace }} now={now} />
    </Page>
  );
}

const tokensText = ({ tokens_per_minute: tokens }: KeyObject): string =>
  tokens === null ? 'No limit' : `${formatCount(tokens)} a minute`;

/** Limits and budget of the key of this session. */
function OwnKey({ id }: { readonly id: string }) {
  const key = useRead<KeyObject>(['keys', id], `/keys/${id}`);
  return (
    <Loaded query={key} lines={3}>
      {(own) => (
        <Card title={own.name ?? own.prefix ?? own.id}>
          <Facts
            facts={[
              { name: 'Budget', value: <BudgetBar of={own} /> },
              { name: 'Rate', value: `${formatCount(own.rate)} requests a second, ${formatCount(own.burst)} at once` },
              { name: 'Tokens', value: tokensText(own) },
              { name: 'Models', value: own.models === null ? 'All' : own.models.join(', ') },
              { name: 'Expires', value: own.expires_at === null ? 'Never' : formatZonedMoment(own.expires_at) },
              { name: 'Status', value: <StateBadge of={keyState(own)} /> },
            ]}
          />
        </Card>
      )}
    </Loaded>
  );
}

const spentColumns: readonly Column<KeyObject>[] = [
  {
    title: 'Name',
    names: true,
    cell: ({ name, id, workspace }) => <Link href={withQuery('/keys', { workspace, search: id })}>{name ?? id}</Link>,
  },
  { title: 'Status', line: 1, cell: (key) => <StateBadge of={keyState(key)} /> },
  { title: 'Budget', line: 2, cell: (key) => <BudgetBar of={key} /> },
];

/** The keys of the chosen workspace whose requests are refused, because their budget is spent. Nothing: there are none. */
function SpentKeys() {
  const workspace = useAskedWorkspace();
  const may = useMay()('keys:read');
  const path = withQuery(`/workspaces/${workspace ?? ''}/keys`, { spent: 'true' });
  const enabled = may && typeof workspace === 'string';
  const keys = useRead<ListPage<KeyObject>>(['keys', workspace, 'spent'], path, { enabled });
  const spent = keys.data?.data ?? [];
  if (spent.length === 0) return null;
  return (
    <Card title="Keys with a spent budget">
      <Table label="Keys with a spent budget" columns={spentColumns} rows={spent} rowKey={({ id }) => id} />
    </Card>
  );
}
