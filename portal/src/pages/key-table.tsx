import { memo } from 'react';
import { Link } from 'wouter';
import type { KeyObject } from '../../../src/portal/api/keys.ts';
import { withQuery } from '../data/api.ts';
import { maySomewhere } from '../data/rights.ts';
import { useSession } from '../data/session.ts';
import { formatCount } from '../format/format.ts';
import { keyState } from '../data/states.ts';
import { StateBadge } from '../parts/badge.tsx';
import { Declared } from '../parts/declared.tsx';
import { Ago, LastUsed, Until } from '../parts/moment.tsx';
import { RowActions } from '../parts/row-actions.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { BudgetBar } from './budget-bar.tsx';
import { CountOnly, limitsOfKey } from './not-enforced.tsx';

/** Actions on a key of the table. */
export type KeyAction = 'edit' | 'rotate' | 'suspend' | 'resume' | 'revoke';

export const statusColumn: Column<KeyObject> = {
  ...({ title: 'Status', line: 1 } as const),
  cell: (key) => <StateBadge of={keyState(key)} />,
};

export const budgetColumn: Column<KeyObject> = { title: 'Budget', line: 2, cell: (key) => <BudgetBar of={key} /> };

export const limitsColumn: Column<Pick<KeyObject, 'rate' | 'burst' | 'tokens_per_minute' | 'not_enforced'>> = {
  title: 'Limits',
  cell: ({ rate, burst, tokens_per_minute: tokens, not_enforced: names }) => (
    <span className="cell-name nowrap">
      {formatCount(rate)} a second
      <span className="small muted">{formatCount(burst)} at once</span>
      {tokens !== null && <span className="small muted">{formatCount(tokens)} tokens a minute</span>}
      <CountOnly limits={limitsOfKey} names={names} />
    </span>
  ),
};

export const lastUsedColumn: Column<KeyObject> = {
  title: 'Last settled',
  cell: ({ last_used_at: at }) => <LastUsed at={at} />,
};

interface KeyTableProps {
  readonly keys: readonly KeyObject[];
  readonly onChoose: (action: KeyAction, of: KeyObject) => void;
}

/** A dialog that opens over the page does not render the rows again, of which there may be hundreds. */
export const KeyTable = memo(function KeyTable({ keys, onChoose }: KeyTableProps) {
  const columns: readonly Column<KeyObject>[] = [
    {
      title: 'Name',
      names: true,
      cell: ({ name, id, prefix, identity, models, declared_by }) => (
        <span className="cell-name">
          {name ?? <span className="muted">{id}</span>}
          {prefix !== null && <code className="small muted nowrap">{prefix}…</code>}
          <IdentityOf account={identity} />
          {models !== null && <span className="small muted">{models.join(', ')}</span>}
          <Declared by={declared_by} />
        </span>
      ),
    },
    statusColumn,
    budgetColumn,
    limitsColumn,
    {
      title: 'Created',
      cell: ({ created_at: at, made_by: maker }) => (
        <span className="cell-name">
          <Ago at={at} />
          {maker !== null && <span className="small muted">by {maker.name}</span>}
        </span>
      ),
    },
    lastUsedColumn,
    {
      title: 'Expires',
      cell: ({ expires_at: at }) => (at === null ? <span className="nowrap">Never</span> : <Until at={at} />),
    },
    { title: 'Actions', bare: true, stays: true, cell: (key) => <Actions of={key} onChoose={onChoose} /> },
  ];
  return <Table label="Keys" columns={columns} rows={keys} rowKey={({ id }) => id} />;
});

/** The identity of an account that callers reach by tokens, as a link for readers of the page Identities. */
function IdentityOf({ account }: { readonly account: KeyObject['identity'] }) {
  const session = useSession();
  if (account === undefined) return null;
  const isLink = session.identities && maySomewhere(session, 'identities:read');
  return (
    <span className="small muted">
      Identity{' '}
      {isLink ? <Link href={withQuery('/identities', { identity: account.id })}>{account.name}</Link> : account.name}
    </span>
  );
}

/** The actions on a key. An account of an identity has its limits, and no text. A key that an object declares is changed there, and one of another person by an owner. */
function Actions({ of, onChoose }: { readonly of: KeyObject; readonly onChoose: KeyTableProps['onChoose'] }) {
  if (of.status === 'revoked' || of.declared_by?.locked === true || !of.may_change) return null;
  const own = [
    ['edit', 'Edit'],
    ['rotate', 'Rotate'],
  ] as const;
  const actions: readonly (readonly [KeyAction, string])[] = [
    ...(of.identity === undefined ? own : []),
    of.status === 'active' ? ['suspend', 'Suspend'] : ['resume', 'Resume'],
    ['revoke', 'Revoke'],
  ];
  return (
    <RowActions
      of={of.name ?? of.id}
      actions={actions.map(([action, word]) => ({ word, onChoose: () => onChoose(action, of) }))}
    />
  );
}
