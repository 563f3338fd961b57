import { memo } from 'react';
import type { MemberObject } from '../../../src/portal/api/members.ts';
import { Badge } from '../parts/badge.tsx';
import { Ago } from '../parts/moment.tsx';
import { RowActions } from '../parts/row-actions.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { wordOf } from './member-forms.tsx';

/** Actions on a member of the table. */
export type MemberAction = 'role' | 'remove';

export const nameOf = ({ address, name, id }: MemberObject): string => address ?? name ?? id;

interface MemberTableProps {
  readonly members: readonly MemberObject[];
  /** Undefined: the caller may not change members. */
  readonly onChoose: ((action: MemberAction, of: MemberObject) => void) | undefined;
}

/** The members with their roles, and how each came. A dialog that opens over the page does not render the rows again. */
export const MemberTable = memo(function MemberTable({ members, onChoose }: MemberTableProps) {
  const columns: readonly Column<MemberObject>[] = [
    {
      title: 'Person',
      names: true,
      cell: (member) => (
        <span className="cell-name">
          {nameOf(member)}
          {member.name !== null && member.name !== nameOf(member) && <span className="small muted">{member.name}</span>}
        </span>
      ),
    },
    {
      title: 'Role',
      cell: ({ role }) => <Badge tone={role === 'owner' ? 'good' : 'none'}>{wordOf(role)}</Badge>,
    },
    {
      title: 'Came by',
      cell: ({ source, invited_by: by, since }) => (
        <span className="cell-name">
          {source === 'group' ? 'Group of the identity provider' : `Invited by ${by?.name ?? 'an admin'}`}
          <span className="small muted">
            <Ago at={since} />
          </span>
        </span>
      ),
    },
    {
      title: 'Last sign-in',
      cell: ({ last_sign_in_at: at }) =>
        at === null ? <span className="muted nowrap">Not signed in yet</span> : <Ago at={at} />,
    },
    {
      ...{ title: 'Actions', bare: true, stays: true },
      // Groups are changed at the identity provider.
      cell: (of) =>
        of.source !== 'group' && (
          <RowActions
            of={nameOf(of)}
            actions={[
              { word: 'Change role', onChoose: () => onChoose?.('role', of) },
              { word: 'Remove', onChoose: () => onChoose?.('remove', of) },
            ]}
          />
        ),
    },
  ];
  const shown = columns.filter(({ title }) => title !== 'Actions' || onChoose !== undefined);
  return <Table label="Members" columns={shown} rows={members} rowKey={({ id }) => id} />;
});
