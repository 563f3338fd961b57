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
    { title: 'Came by', cell: (member) => <CameBy of={member} /> },
    {
      title: 'Last sign-in',
      cell: ({ last_sign_in_at: at }) =>
        at === null ? <span className="muted nowrap">Not signed in yet</span> : <Ago at={at} />,
    },
    ...(onChoose === undefined
      ? []
      : [
          {
            ...({ title: 'Actions', bare: true, stays: true } as const),
            cell: (member: MemberObject) => <Actions of={member} onChoose={onChoose} />,
          },
        ]),
  ];
  return <Table label="Members" columns={columns} rows={members} rowKey={({ id }) => id} />;
});

function CameBy({ of }: { readonly of: MemberObject }) {
  return (
    <span className="cell-name">
      {of.source === 'group' ? 'Group of the identity provider' : `Invited by ${of.invited_by?.name ?? 'an admin'}`}
      <span className="small muted">
        <Ago at={of.since} />
      </span>
    </span>
  );
}

interface ActionsProps {
  readonly of: MemberObject;
  readonly onChoose: NonNullable<MemberTableProps['onChoose']>;
}

/** The actions on a member. Groups are changed at the identity provider, so their members have none. */
function Actions({ of, onChoose }: ActionsProps) {
  if (of.source === 'group') return null;
  return (
    <RowActions
      of={nameOf(of)}
      actions={[
        { word: 'Change role', onChoose: () => onChoose('role', of) },
        { word: 'Remove', onChoose: () => onChoose('remove', of) },
      ]}
    />
  );
}
