import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { Link } from 'wouter';
import type { KeyObject } from '../../../src/portal/api/keys.ts';
import { call } from '../data/api.ts';
import { useEvents } from '../data/events.ts';
import { useSession } from '../data/session.ts';
import { useThrottled } from '../data/throttled.ts';
import { type UsageFilter, useMinute, useUsage } from '../data/usage.ts';
import { beginningOf, hourMs } from '../data/usage-range.ts';
import { formatCount, formatMoney, formatMs, formatShare, formatZonedMoment, unknown } from '../format/format.ts';
import { Card, Facts, Figure, Page } from '../parts/page.tsx';
import { Loaded } from '../parts/states.tsx';
import { useAskedWorkspace } from '../data/workspaces.ts';
import { WorkspaceSelect } from '../parts/workspace-select.tsx';
import { CurrentProblems } from './current-problems.tsx';
import { BudgetBar } from './key-table.tsx';
import { RecentCost } from './recent-cost.tsx';

const refreshMs = 5_000;

/** The hour in which the reader's day or month began. */
function localBeginningOf(what: 'day' | 'month', moment: number): string {
  const now = new Date(moment);
  const start = new Date(now.getFullYear(), now.getMonth(), what === 'day' ? now.getDate() : 1);
  return new Date(Math.floor(start.getTime() / hourMs) * hourMs).toISOString();
}

const since = (from: string, workspace: string | undefined | null): UsageFilter => ({
  ...{ from, to: undefined, workspace },
  key: undefined,
  model: undefined,
});

/** Cost, traffic and current problems. */
export function OverviewPage() {
  const session = useSession();
  const now = useMinute();
  const workspace = useAskedWorkspace();
  const day = localBeginningOf('day', now);
  const month = localBeginningOf('month', now);
  const last = beginningOf('24h', now);
  const filters = useMemo(
    () => ({ day: since(day, workspace), month: since(month, workspace), last: since(last, workspace) }),
    [day, month, last, workspace],
  );
  const today = useUsage(filters.day);
  const thisMonth = useUsage(filters.month);
  // Reads the sums again after a request ended, but under load only once in a few seconds.
  const refresh = useThrottled(refreshMs, () => {
    void today.refetch();
    void thisMonth.refetch();
  });
  useEvents({ request: refresh });
  return (
    <Page
      title="Overview"
      about={session.role === 'key' ? 'Usage and limits of this key.' : 'Cost, traffic and current problems.'}
    >
      {session.role !== 'key' && <CurrentProblems isAdmin={session.role === 'admin'} />}
      {session.role !== 'key' && (
        <div className="filters">
          <WorkspaceSelect all />
        </div>
      )}
      {session.key_id !== null && <OwnKey id={session.key_id} />}
      <Loaded query={today} lines={3}>
        {({ lines: [line] }) => (
          <div className="figures">
            <Figure label="Spend today" value={formatMoney(line?.cost ?? 0)} />
            <Figure
              label="Spend this month"
              value={thisMonth.data === undefined ? unknown : formatMoney(thisMonth.data.lines[0]?.cost ?? 0)}
              note={<Link href="/usage?range=30d">See the usage</Link>}
            />
            <Figure label="Requests today" value={formatCount(line?.requests ?? 0)} />
            <Figure
              label="Errors today"
              value={formatCount(line?.errors ?? 0)}
              note={
                line === undefined || line.requests === 0
                  ? undefined
                  : `${formatShare(line.errors / line.requests)} of all`
              }
            />
            <Figure
              label="Time to first token"
              value={
                line === undefined || line.first_token_p50_ms === null ? unknown : formatMs(line.first_token_p50_ms)
              }
              note={
                line === undefined || line.first_token_p95_ms === null
                  ? 'median'
                  : `median; p95 ${formatMs(line.first_token_p95_ms)}`
              }
            />
          </div>
        )}
      </Loaded>
      <RecentCost filter={filters.last} now={now} />
    </Page>
  );
}

/** Limits and budget of the key of this session. */
function OwnKey({ id }: { readonly id: string }) {
  const key = useQuery({ queryKey: ['keys', id], queryFn: () => call<KeyObject>(`/keys/${id}`) });
  return (
    <Loaded query={key} lines={3}>
      {(own) => (
        <Card title={own.name ?? own.prefix ?? own.id}>
          <Facts
            facts={[
              { name: 'Budget', value: <BudgetBar of={own} /> },
              { name: 'Rate', value: `${formatCount(own.rate)} requests a second, ${formatCount(own.burst)} at once` },
              { name: 'Models', value: own.models === null ? 'All' : own.models.join(', ') },
              { name: 'Expires', value: own.expires_at === null ? 'Never' : formatZonedMoment(own.expires_at) },
              { name: 'Status', value: own.status },
            ]}
          />
        </Card>
      )}
    </Loaded>
  );
}
