import type { AuditEntryObject } from '../../../src/portal/api/audit.ts';
import { useList } from '../data/load-more.ts';
import { useAskedWorkspace } from '../data/workspaces.ts';
import { formatPreciseMoment, unknown } from '../format/format.ts';
import { More } from '../parts/more.tsx';
import { Page } from '../parts/page.tsx';
import { Empty, Loaded } from '../parts/states.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { WorkspaceSelect } from '../parts/workspace-select.tsx';

const actorKinds: Readonly<Record<AuditEntryObject['actor']['kind'], string>> = {
  'command-line': 'command line',
  'admin-token': 'admin token',
  'portal-user': 'portal',
  controller: 'object',
  service: 'Weir',
};

const columns: readonly Column<AuditEntryObject>[] = [
  { title: 'When', names: true, cell: ({ at }) => <span className="nowrap">{formatPreciseMoment(at)}</span> },
  {
    title: 'Who',
    cell: ({ actor: { kind, name } }) => (
      <span className="cell-name">
        {name}
        <span className="small muted">{actorKinds[kind]}</span>
      </span>
    ),
  },
  { title: 'Action', cell: ({ action }) => <code className="nowrap">{action}</code> },
  {
    title: 'Object',
    cell: ({ object, workspace }) => (
      <span className="cell-name">
        <code className="nowrap">{object}</code>
        {workspace !== null && <span className="small muted">{workspace}</span>}
      </span>
    ),
  },
  { title: 'Change', cell: (entry) => <Change of={entry} /> },
];

/** The fields that differ, before and after. */
function Change({ of: { before, after } }: { readonly of: AuditEntryObject }) {
  const names = Object.keys(after).filter((name) => before === null || !isSame(before[name], after[name]));
  return (
    <ul className="change small">
      {names.map((name) => (
        <li key={name}>
          <span className="muted">{name}:</span> {before !== null && `${shown(before[name])} → `}
          {shown(after[name])}
        </li>
      ))}
    </ul>
  );
}

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

function shown(value: unknown): string {
  if (value === null || value === undefined) return unknown;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** All changes of accounts, newest first. */
export function AuditPage() {
  const workspace = useAskedWorkspace();
  const entries = useList<AuditEntryObject>({
    queryKey: ['audit'],
    path: '/audit',
    query: { workspace: workspace ?? undefined },
    enabled: workspace !== null,
  });
  return (
    <Page title="Audit log" about="Every change of workspaces, keys and credits.">
      <div className="filters">
        <WorkspaceSelect all />
      </div>
      <Loaded query={entries}>
        {(list) =>
          list.length === 0 ? (
            <Empty title="No changes yet" />
          ) : (
            <Table label="Audit log" columns={columns} rows={list} rowKey={({ id }) => String(id)} />
          )
        }
      </Loaded>
      <More list={entries} />
    </Page>
  );
}
