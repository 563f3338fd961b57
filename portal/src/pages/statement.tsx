import { Link } from 'wouter';
import type { StatementLineObject, StatementObject } from '../../../src/portal/api/statements.ts';
import { useAddress } from '../data/address.ts';
import { withQuery } from '../data/api.ts';
import { useRead } from '../data/calls.ts';
import { useMinute } from '../data/usage.ts';
import { useChosenWorkspace, type WorkspaceChoice } from '../data/workspaces.ts';
import { formatCount, formatExactMoney, formatMonth, formatShare, formatUtcMoment, unknown } from '../format/format.ts';
import { Button } from '../parts/button.tsx';
import { Download } from '../parts/download.tsx';
import { Select } from '../parts/fields.tsx';
import { Card, Facts, Page } from '../parts/page.tsx';
import { Loaded, Notice } from '../parts/states.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Trend } from '../parts/trend.tsx';
import { WorkspaceSelect } from '../parts/workspace-select.tsx';

const shownMonths = 24;

/** `2026-11`, this UTC month or one before it. */
export function monthBefore(now: number, months = 0): string {
  const at = new Date(now);
  return new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() - months)).toISOString().slice(0, 7);
}

/** The account of a workspace for a month, for the screen and for paper. */
export function StatementPage({ month }: { readonly month: string }) {
  const workspace = useChosenWorkspace();
  const [, change] = useAddress();
  const now = useMinute();
  const months = Array.from({ length: shownMonths }, (_, before) => monthBefore(now, before));
  const path = `/workspaces/${workspace?.id}/statements/${encodeURIComponent(month)}`;
  return (
    <Page
      title={`Statement for ${formatMonth(month)}`}
      about={
        <>
          {workspace?.name} <Link href={withQuery('/balance', { workspace: workspace?.name })}>Balance</Link>
        </>
      }
      actions={
        workspace && (
          <>
            <Download path={path} file={`statement-${workspace.name}-${month}.csv`} />
            <Button onPress={() => print()}>Print</Button>
          </>
        )
      }
    >
      <div className="filters">
        <WorkspaceSelect />
        <Select
          label="Month"
          value={month}
          onChange={(statement) => change({ statement })}
          options={[...new Set([...months, month])].map((value) => ({ value, label: formatMonth(value) }))}
        />
      </div>
      {workspace !== undefined && <Account key={path} of={workspace} path={path} />}
    </Page>
  );
}

function Account({ of, path }: { readonly of: WorkspaceChoice; readonly path: string }) {
  const statement = useRead<StatementObject>(['statement', path], path);
  return (
    <Loaded query={statement}>
      {(made) => (
        <>
          {made.state === 'open' && (
            <Notice tone="none">
              <p>This month is open: its figures may still change.</p>
            </Notice>
          )}
          <Facts
            facts={[
              { name: 'Workspace', value: `${of.name} (${of.id})` },
              ...Object.entries(made.labels).map(([name, value]) => ({ name, value })),
            ]}
          />
          <Sums of={made} />
          {made.entries.length > 0 && (
            <Card title="Credits and corrections">
              <Table
                label="Credits and corrections"
                columns={entryColumns}
                rows={made.entries}
                rowKey={({ id, at }) => id ?? at}
              />
            </Card>
          )}
          {made.late.length > 0 && (
            <Card title="Late usage of closed months">
              <Table
                label="Late usage"
                columns={lateColumns}
                rows={made.late}
                rowKey={({ month, key }) => `${month} ${key}`}
              />
            </Card>
          )}
          <Lines title="Keys" of={made} lines={made.lines.filter(({ by }) => by === 'key')} />
          <Lines title="Identities" of={made} lines={made.lines.filter(({ by }) => by === 'identity')} />
          <Lines title="Models" of={made} lines={made.lines.filter(({ by }) => by === 'model')} />
          {[...Map.groupBy(made.lines, ({ tag }) => tag)].map(
            ([tag, lines]) => tag !== null && <Lines key={tag} title={`Tag ${tag}`} of={made} lines={lines} />,
          )}
        </>
      )}
    </Loaded>
  );
}

const less = (usd: string): string => (usd === '0' ? usd : `-${usd}`);

function Sums({ of }: { readonly of: StatementObject }) {
  const sums: readonly (readonly [name: string, usd: string])[] = [
    ['Opening balance', of.opening_balance],
    ['Credits', of.credits],
    ['Corrections', of.corrections],
    [`Usage (the month before: ${formatExactMoney(of.usage_before)})`, less(of.usage)],
    ['Late usage of closed months', less(of.late_usage)],
  ];
  return (
    <Card title="Account">
      <Table
        label="Account"
        columns={[
          { title: 'Sum', names: true, cell: ([name]) => name },
          { title: 'USD', end: true, cell: ([, usd]) => formatExactMoney(usd) },
        ]}
        rows={sums}
        rowKey={([name]) => name}
        footer={
          <>
            <th scope="row">Closing balance</th>
            <td className="end">{formatExactMoney(of.closing_balance)}</td>
          </>
        }
      />
    </Card>
  );
}

type Entry = StatementObject['entries'][number];
const entryColumns: readonly Column<Entry>[] = [
  { title: 'When', names: true, cell: ({ at }) => <span className="nowrap">{formatUtcMoment(at)}</span> },
  { title: 'Kind', cell: ({ amount }) => (amount.startsWith('-') ? 'Correction' : 'Credit') },
  { title: 'Amount', end: true, cell: ({ amount }) => formatExactMoney(amount) },
  { title: 'Note', cell: ({ note }) => note ?? unknown },
];

type LateEntry = StatementObject['late'][number];
const lateColumns: readonly Column<LateEntry>[] = [
  { title: 'Month', names: true, cell: ({ month }) => formatMonth(month) },
  { title: 'Key', cell: ({ key, key_name: name }) => name ?? key },
  { title: 'Requests', end: true, cell: ({ requests }) => formatCount(requests) },
  { title: 'Cost', end: true, cell: ({ cost }) => formatExactMoney(cost) },
];

/** Rows of a table. The file has all of them. */
const maxRows = 200;

const lineColumns: readonly Column<StatementLineObject>[] = [
  { title: 'Requests', end: true, cell: ({ requests }) => formatCount(requests) },
  { title: 'Prompt tokens', end: true, cell: (line) => formatCount(line.prompt_tokens) },
  { title: 'Output tokens', end: true, cell: (line) => formatCount(line.completion_tokens) },
  { title: 'Cost', end: true, cell: ({ cost }) => formatExactMoney(cost) },
  { title: 'Share', end: true, cell: ({ share }) => formatShare(share / 100) },
  { title: 'Month before', end: true, cell: (line) => formatExactMoney(line.cost_before) },
  {
    ...{ title: 'Change', end: true },
    cell: (line) => <Trend now={Number(line.cost)} before={Number(line.cost_before)} />,
  },
];

interface LinesProps {
  readonly title: string;
  readonly of: StatementObject;
  readonly lines: readonly StatementLineObject[];
}

function Lines({ title, of, lines }: LinesProps) {
  // A workspace without identities, or without tags, has nothing to tell apart.
  if (lines.every(({ by, id }) => by !== 'key' && id === null)) return null;
  return (
    <Card title={title}>
      <Table
        label={title}
        columns={[{ title: 'Name', names: true, cell: ({ id, name }) => name ?? id ?? '(none)' }, ...lineColumns]}
        rows={lines.slice(0, maxRows)}
        rowKey={({ id }) => id ?? ''}
        footer={
          <>
            <th scope="row" colSpan={4}>
              {lines.length > maxRows ? `All, with ${formatCount(lines.length - maxRows)} more of the CSV` : 'All'}
            </th>
            <td className="end">{formatExactMoney(of.usage)}</td>
            <td className="end">{formatShare(of.usage === '0' ? 0 : 1)}</td>
            <td className="end">{formatExactMoney(of.usage_before)}</td>
            <td className="end">
              <Trend now={Number(of.usage)} before={Number(of.usage_before)} />
            </td>
          </>
        }
      />
    </Card>
  );
}
