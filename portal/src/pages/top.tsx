import type { TopListObject, TopRowObject } from '../../../src/portal/api/top.ts';
import { useAddress } from '../data/address.ts';
import { withQuery } from '../data/api.ts';
import { useRead } from '../data/calls.ts';
import { formatCount, formatMoney } from '../format/format.ts';
import { Page } from '../parts/page.tsx';
import { Segments } from '../parts/segments.tsx';
import { Empty, Loaded } from '../parts/states.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { ProblemsOf } from './current-problems.tsx';

const groups = [
  { value: 'key', label: 'Key' },
  { value: 'workspace', label: 'Workspace' },
  { value: 'model', label: 'Model' },
  { value: 'address', label: 'Address' },
  { value: 'outcome', label: 'Outcome' },
] as const;

const everyMs = 2_000;

const refusals = ({ refused }: TopRowObject): number => Object.values(refused).reduce((sum, times) => sum + times, 0);

const columns: readonly Column<TopRowObject>[] = [
  {
    title: 'Name',
    names: true,
    cell: ({ name, label }) => (
      <span className="cell-name">
        {label ?? name ?? 'Others'}
        {label !== null && <code className="small muted">{name}</code>}
      </span>
    ),
  },
  { title: 'Requests', end: true, cell: ({ requests }) => formatCount(requests), sortBy: ({ requests }) => requests },
  {
    title: 'Refused',
    end: true,
    sortBy: refusals,
    cell: (row) => (
      <span className="cell-name">
        {formatCount(refusals(row))}
        <span className="small muted">{Object.keys(row.refused).join(', ')}</span>
        {Object.entries(row.would_refuse).map(([limit, times]) => (
          <span key={limit} className="small muted">
            {formatCount(times)} beyond {limit}, which is not enforced
          </span>
        ))}
      </span>
    ),
  },
  { title: 'Failed', end: true, cell: ({ failed }) => formatCount(failed), sortBy: ({ failed }) => failed },
  { title: 'In flight', end: true, cell: (row) => formatCount(row.in_flight), sortBy: (row) => row.in_flight },
  { title: 'Tokens', end: true, cell: (row) => formatCount(row.prompt_tokens + row.completion_tokens) },
  { title: 'Cost', end: true, cell: ({ cost }) => formatMoney(cost) },
];

/** Who sends the requests of the last minute. */
export function TopPage() {
  const [{ by: asked }, setAddress] = useAddress();
  const { value: by } = groups.find(({ value }) => value === asked) ?? groups[0];
  const top = useRead<TopListObject>(['top', by], withQuery('/top', { by }), { refetchInterval: everyMs });
  return (
    <Page
      title="Top"
      about="Requests of the last minute, over all services."
      actions={
        <Segments label="Group by" value={by} options={groups} onChange={(value) => setAddress({ by: value })} />
      }
    >
      <Loaded query={top}>
        {({ data }) => (
          <>
            <ProblemsOf label="Silent services" are={({ kind }) => kind === 'service-silent'} />
            <Table
              label="Top"
              columns={columns}
              rows={data}
              rowKey={({ name }) => name ?? ''}
              empty={<Empty title="No requests">None ended in the last minute, and none is in flight.</Empty>}
            />
          </>
        )}
      </Loaded>
    </Page>
  );
}
