import { Link } from 'wouter';
import type { UsageLineObject } from '../../../src/portal/api/usage.ts';
import { withQuery } from '../data/api.ts';
import { type Grouping, type Usage, usagePath } from '../data/usage.ts';
import { formatCount, formatMoney, formatMs, orUnknown, unknown } from '../format/format.ts';
import { Download } from '../parts/download.tsx';
import { Card } from '../parts/page.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { groupingOf, groupName } from './usage-charts.tsx';

const titles: Readonly<Record<Grouping, { readonly one: string; readonly many: string }>> = {
  model: { one: 'Model', many: 'Models' },
  key: { one: 'Key', many: 'Keys' },
  workspace: { one: 'Workspace', many: 'Workspaces' },
  tag: { one: 'Value', many: 'Values' },
};

const sums: readonly Column<UsageLineObject>[] = [
  { title: 'Cost', end: true, cell: ({ cost }) => formatMoney(cost), sortBy: ({ cost }) => Number(cost) },
  count('Requests', ({ requests }) => requests),
  count('Errors', ({ errors }) => errors),
  count('Prompt tokens', (line) => line.prompt_tokens),
  count('of them cached', (line) => line.cached_tokens),
  count('Output tokens', (line) => line.completion_tokens),
  {
    ...{ title: 'First token p50', end: true, cell: (line) => orUnknown(line.first_token_p50_ms, formatMs) },
    sortBy: (line) => line.first_token_p50_ms ?? -1,
  },
  {
    ...{ title: 'p95', end: true, cell: (line) => orUnknown(line.first_token_p95_ms, formatMs) },
    sortBy: (line) => line.first_token_p95_ms ?? -1,
  },
];

function count(title: string, of: (line: UsageLineObject) => number): Column<UsageLineObject> {
  return { title, end: true, cell: (line) => formatCount(of(line)), sortBy: of };
}

/** The sums of each model, key, workspace or value of a tag, and the same lines as a file, which has all of them. */
export function UsageGroups({ usage }: { readonly usage: Usage }) {
  const { asked, lines } = usage;
  const by = groupingOf(usage);
  const { one, many } = titles[by];
  const columns: readonly Column<UsageLineObject>[] = [
    {
      ...{ title: one, names: true, sortBy: (line) => groupName(line, by).toLowerCase() },
      cell: (line) => <GroupLink of={line} by={by} />,
    },
    ...(by === 'key'
      ? [
          {
            title: 'Workspace',
            cell: (line: UsageLineObject) => line.key_workspace ?? unknown,
            sortBy: (line: UsageLineObject) => line.key_workspace ?? '',
          },
        ]
      : []),
    ...sums,
  ];
  return (
    <Card
      title={many}
      aside={
        <Download
          label={`Download ${many.toLowerCase()} as CSV`}
          path={usagePath({ ...asked, top: undefined })}
          file={`usage-by-${by}-${asked.filter.from.slice(0, 10)}.csv`}
        />
      }
    >
      <Table label={`Usage by ${by}`} columns={columns} rows={lines} rowKey={(line) => line[by] ?? ''} />
    </Card>
  );
}

/** The name of a group. A workspace leads to its keys, a model and a key to their requests. */
function GroupLink({ of, by }: { readonly of: UsageLineObject; readonly by: Grouping }) {
  const id = of[by];
  const name = groupName(of, by);
  if (id === null || by === 'tag') return name;
  const path =
    by === 'workspace' ? withQuery('/usage', { workspace: id, by: 'key' }) : withQuery('/requests', { [by]: id });
  return <Link href={path}>{name}</Link>;
}
