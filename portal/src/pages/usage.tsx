import { useMemo } from 'react';
import { useAddress } from '../data/address.ts';
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
import { type Range, ranges, timeOf } from '../data/usage-range.ts';
import { useAskedWorkspace } from '../data/workspaces.ts';
import { Button } from '../parts/button.tsx';
import { Download } from '../parts/download.tsx';
import { CommittedField } from '../parts/committed-field.tsx';
import { Select } from '../parts/fields.tsx';
import { Page } from '../parts/page.tsx';
import { Segments } from '../parts/segments.tsx';
import { Empty, Loaded } from '../parts/states.tsx';
import { WorkspaceSelect } from '../parts/workspace-select.tsx';
import { UsageCharts } from './usage-charts.tsx';
import { UsageGroups } from './usage-groups.tsx';
import { UsageTotals } from './usage-totals.tsx';

const rangeNames: Readonly<Record<Range, string>> = {
  today: 'Today',
  '24h': '24 hours',
  '7d': '7 days',
  '30d': '30 days',
  '90d': '90 days',
  month: 'This month',
  'last-month': 'Last month',
  custom: 'Days …',
};

/** Tags are counted by days: a report by tag has no such time. */
const isOfHours = (range: Range): boolean => range === 'today' || range === '24h';

/** Usage and cost, over time and in sum. The address has the selection. */
export function UsagePage() {
  const session = useSession();
  const now = useMinute();
  const workspace = useAskedWorkspace();
  const [{ range: givenRange, by: givenBy, first, last, key, model, tag: givenTag }, change] = useAddress();
  const by = groupings.find((one) => one === givenBy) ?? 'model';
  const asked = ranges.find((one) => one === givenRange) ?? '7d';
  const range = by === 'tag' && isOfHours(asked) ? '7d' : asked;
  const time = useMemo(() => timeOf(range, now, { first, last }), [range, now, first, last]);
  const { from, to, period } = time;
  const filter = useMemo((): UsageFilter => ({ from, to, workspace, key, model }), [from, to, workspace, key, model]);
  // All reports start to load at once.
  const totals = useUsage(filter, [period]);
  const tagNames = useTagNames(workspace, session.role !== 'key');
  const tag = by === 'tag' ? (givenTag ?? tagNames[0]?.name) : undefined;
  // Until the names of tags are known, no report by tag is read.
  const byGroup = useMemo(
    (): UsageFilter => (by === 'tag' && tag === undefined ? { ...filter, workspace: null } : { ...filter, tag }),
    [by, filter, tag],
  );
  const grouped = useUsage(byGroup, [period, by], mostInChart);
  const groups = useUsage(byGroup, [by], mostInTable);
  return (
    <Page
      title="Usage"
      about="Usage and its cost. Days are those of UTC, but today is yours."
      actions={
        <Download
          path={usagePath({ filter: byGroup, by: [period, by], top: undefined })}
          file={`usage-${filter.from.slice(0, 10)}.csv`}
        />
      }
    >
      <div className="filters">
        <Select
          label="Time"
          value={range}
          onChange={(value) => change({ range: value })}
          options={ranges
            .filter((value) => by !== 'tag' || !isOfHours(value))
            .map((value) => ({ value, label: rangeNames[value] }))}
        />
        {range === 'custom' && (
          <>
            <CommittedField
              label="First day"
              type="date"
              value={from.slice(0, 10)}
              onCommit={(day) => change({ first: day })}
            />
            <CommittedField
              label="Last day"
              type="date"
              value={lastDayOf(to)}
              onCommit={(day) => change({ last: day })}
            />
          </>
        )}
        <Segments
          label="Stacked by"
          value={by}
          onChange={(value) => change({ by: value })}
          options={[
            { value: 'model', label: 'By model' },
            { value: 'key', label: 'By key' },
            ...(session.role === 'admin' ? [{ value: 'workspace' as const, label: 'By workspace' }] : []),
            ...(tagNames.length > 0 || by === 'tag' ? [{ value: 'tag' as const, label: 'By tag' }] : []),
          ]}
        />
        {by === 'tag' && (
          <Select
            label="Tag"
            value={tag ?? ''}
            onChange={(value) => change({ tag: value })}
            options={tagNames.map(({ name }) => ({ value: name, label: name }))}
          />
        )}
        {session.role !== 'key' && <WorkspaceSelect all />}
        <Narrowed keyId={key} model={model} onClear={() => change({ key: undefined, model: undefined })} />
      </div>
      <Loaded query={totals} lines={12}>
        {(sums) =>
          sums.lines.length === 0 ? (
            <Empty title="No usage in this time">
              <p>Requests appear here as soon as they end.</p>
            </Empty>
          ) : (
            <>
              <UsageTotals filter={filter} time={time} />
              <Loaded query={grouped} lines={12}>
                {(some) => <UsageCharts totals={sums} grouped={some} now={now} />}
              </Loaded>
              <Loaded query={groups}>{(usage) => <UsageGroups usage={usage} />}</Loaded>
            </>
          )
        }
      </Loaded>
    </Page>
  );
}

/** The last day of a time that ends with a UTC day. */
const lastDayOf = (to: string | undefined): string =>
  to === undefined ? '' : new Date(Date.parse(to) - 1).toISOString().slice(0, 10);

interface NarrowedProps {
  readonly keyId: string | undefined;
  readonly model: string | undefined;
  readonly onClear: () => void;
}

/** Further filters of the report in the address. */
function Narrowed({ keyId, model, onClear }: NarrowedProps) {
  if (keyId === undefined && model === undefined) return null;
  return (
    <Button kind="quiet" icon="close" onPress={onClear}>
      Only {[keyId, model].filter((part) => part !== undefined).join(', ')}
    </Button>
  );
}
