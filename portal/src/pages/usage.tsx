import { useMemo } from 'react';
import type { UsageLineObject } from '../../../src/portal/api/usage.ts';
import { useAddress } from '../data/address.ts';
import { useSession } from '../data/session.ts';
import {
  beginningOf,
  type Grouping,
  mostInChart,
  mostInTable,
  type Range,
  ranges,
  type Usage,
  type UsageFilter,
  useMinute,
  usagePath,
  useUsage,
} from '../data/usage.ts';
import { formatCount, formatMoney, formatMs, unknown } from '../format/format.ts';
import { Button } from '../parts/button.tsx';
import { Download } from '../parts/download.tsx';
import { Card, Page } from '../parts/page.tsx';
import { Segments } from '../parts/segments.tsx';
import { Empty, Loaded } from '../parts/states.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { useAskedWorkspace } from '../data/workspaces.ts';
import { WorkspaceSelect } from '../parts/workspace-select.tsx';
import { groupName, UsageCharts } from './usage-charts.tsx';

const rangeNames: Readonly<Record<Range, string>> = {
  '24h': '24 hours',
  '7d': '7 days',
  '30d': '30 days',
  '90d': '90 days',
};
/** Usage and cost, over time and in sum. The address has the selection. */
export function UsagePage() {
  const session = useSession();
  const now = useMinute();
  const workspace = useAskedWorkspace();
  const [{ range: givenRange, by: givenBy, key, model }, change] = useAddress();
  const range = ranges.find((one) => one === givenRange) ?? '7d';
  const by: Grouping = givenBy === 'key' ? 'key' : 'model';
  const period = range === '24h' ? 'hour' : 'day';
  const first = beginningOf(range, now);
  const filter = useMemo(
    (): UsageFilter => ({ from: first, to: undefined, workspace, key, model }),
    [first, workspace, key, model],
  );
  // All reports start to load at once.
  const totals = useUsage(filter, [period]);
  const grouped = useUsage(filter, [period, by], mostInChart);
  const groups = useUsage(filter, [by], mostInTable);
  return (
    <Page
      title="Usage"
      about="Usage and its cost."
      actions={
        <Download
          path={usagePath({ filter, by: [period, by], top: undefined })}
          file={`usage-${filter.from.slice(0, 10)}.csv`}
        />
      }
    >
      <div className="filters">
        <Segments
          label="Time"
          value={range}
          onChange={(value) => change({ range: value })}
          options={ranges.map((value) => ({ value, label: rangeNames[value] }))}
        />
        <Segments
          label="Stacked by"
          value={by}
          onChange={(value) => change({ by: value })}
          options={[
            { value: 'model', label: 'By model' },
            { value: 'key', label: 'By key' },
          ]}
        />
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
              <Loaded query={grouped} lines={12}>
                {(some) => <UsageCharts totals={sums} grouped={some} now={now} />}
              </Loaded>
              <Loaded query={groups}>{(usage) => <GroupCard usage={usage} />}</Loaded>
            </>
          )
        }
      </Loaded>
    </Page>
  );
}

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

function GroupCard({ usage: { asked, lines } }: { readonly usage: Usage }) {
  const by: Grouping = asked.by.includes('key') ? 'key' : 'model';
  const columns: readonly Column<UsageLineObject>[] = [
    { title: by === 'key' ? 'Key' : 'Model', names: true, cell: (line) => groupName(line, by) },
    { title: 'Cost', end: true, cell: ({ cost }) => formatMoney(cost) },
    { title: 'Requests', end: true, cell: ({ requests }) => formatCount(requests) },
    { title: 'Errors', end: true, cell: ({ errors }) => formatCount(errors) },
    { title: 'Prompt tokens', end: true, cell: ({ prompt_tokens: tokens }) => formatCount(tokens) },
    { title: 'of them cached', end: true, cell: ({ cached_tokens: tokens }) => formatCount(tokens) },
    { title: 'Output tokens', end: true, cell: ({ completion_tokens: tokens }) => formatCount(tokens) },
    {
      title: 'First token p50',
      end: true,
      cell: ({ first_token_p50_ms: ms }) => (ms === null ? unknown : formatMs(ms)),
    },
    { title: 'p95', end: true, cell: ({ first_token_p95_ms: ms }) => (ms === null ? unknown : formatMs(ms)) },
  ];
  const rowKey = (line: UsageLineObject): string => line.key ?? line.model ?? '';
  return (
    <Card title={by === 'key' ? 'Keys' : 'Models'}>
      <Table label={by === 'key' ? 'Usage by key' : 'Usage by model'} columns={columns} rows={lines} rowKey={rowKey} />
    </Card>
  );
}
