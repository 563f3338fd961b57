import type { ServiceAccountObject } from '../../../src/portal/api/service-accounts.ts';
import { type Page, withQuery } from '../data/api.ts';
import { useRead } from '../data/calls.ts';
import type { WorkspaceChoice } from '../data/workspaces.ts';
import { accountState } from '../data/states.ts';
import { StateBadge } from '../parts/badge.tsx';
import { LastUsed, Until } from '../parts/moment.tsx';
import { Card } from '../parts/page.tsx';
import { Loaded } from '../parts/states.tsx';
import { type Column, Table } from '../parts/table.tsx';

const columns: readonly Column<ServiceAccountObject>[] = [
  {
    title: 'Name',
    names: true,
    cell: ({ name, prefix }) => (
      <span className="cell-name">
        {name}
        <code className="small muted">{prefix}…</code>
      </span>
    ),
  },
  {
    title: 'Status',
    cell: (account) => <StateBadge of={accountState(account)} />,
  },
  { title: 'Scopes', cell: ({ scopes }) => <code className="small">{scopes.join(', ')}</code> },
  {
    title: 'Workspaces',
    cell: ({ workspaces }) =>
      workspaces === null ? 'All' : workspaces.length === 1 ? 'This one' : 'This one and others',
  },
  { title: 'Last used', cell: ({ last_used_at: at }) => <LastUsed at={at} /> },
  { title: 'Expires', cell: ({ expires_at: at }) => <Until at={at} /> },
];

/** The scripts that can call the admin API about a workspace. The command line makes and revokes them. */
export function ServiceAccounts({ of }: { readonly of: WorkspaceChoice }) {
  const path = withQuery('/service-accounts', { workspace: of.id });
  const accounts = useRead<Page<ServiceAccountObject>>(['service-accounts', of.id], path);
  return (
    <Card title="Service accounts">
      <Loaded query={accounts} lines={2}>
        {({ data }) =>
          data.length === 0 ? (
            <p className="muted">
              No script has a token for this workspace. An operator makes one with{' '}
              <code>weir service-account create</code>.
            </p>
          ) : (
            <Table label="Service accounts" columns={columns} rows={data} rowKey={({ id }) => id} />
          )
        }
      </Loaded>
    </Card>
  );
}
