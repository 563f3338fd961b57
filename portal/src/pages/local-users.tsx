import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { InvitedUserObject, NewUserObject, UserObject } from '../../../src/portal/api/users.ts';
import { call, type Page } from '../data/api.ts';
import { useRead, useSend } from '../data/calls.ts';
import { useSignInWays } from '../data/session.ts';
import { userState } from '../data/states.ts';
import type { WorkspaceChoice } from '../data/workspaces.ts';
import { StateBadge } from '../parts/badge.tsx';
import { Button } from '../parts/button.tsx';
import { Confirm } from '../parts/dialog.tsx';
import { LastUsed } from '../parts/moment.tsx';
import { Card } from '../parts/page.tsx';
import { RowActions } from '../parts/row-actions.tsx';
import { SecretPanel } from '../parts/secret-panel.tsx';
import { Loaded } from '../parts/states.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Invite, type RoleWords, roleWords } from './member-forms.tsx';

const admin: RoleWords<'admin'> = { role: 'admin', word: 'Admin', text: 'Everything, in every workspace.' };
const none: RoleWords<'none'> = { role: 'none', word: 'None here', text: 'Has a role in a workspace already.' };

const questions = {
  link: {
    ...{ title: 'Create a new link?', action: 'Create link' },
    text: 'can choose another password with it. An earlier link stops working now, the earlier password when the new link is used.',
  },
  remove: {
    ...{ title: 'Remove this user?', action: 'Remove' },
    text: 'is signed out, and cannot sign in any more. Roles in workspaces stay until you remove them there.',
  },
} as const;

type Open = { readonly kind: 'invite' } | { readonly kind: keyof typeof questions; readonly of: UserObject };

const columnsOf = (ask: (kind: keyof typeof questions, of: UserObject) => void): readonly Column<UserObject>[] => [
  { title: 'Person', names: true, cell: ({ address }) => address },
  { title: 'Role', cell: ({ role }) => (role === 'admin' ? 'Admin' : 'Member') },
  { title: 'Status', cell: (user) => <StateBadge of={userState(user)} /> },
  { title: 'Last sign-in', cell: ({ last_sign_in_at: at }) => <LastUsed at={at} /> },
  {
    ...{ title: 'Actions', bare: true, stays: true },
    cell: (user) => (
      <RowActions
        of={`local user ${user.address}`}
        actions={[
          { word: 'New link', onChoose: () => ask('link', user) },
          { word: 'Remove', onChoose: () => ask('remove', user) },
        ]}
      />
    ),
  },
];

/** The people who sign in with a password, for admins. Off where an identity provider is set. */
export function LocalUsers({ workspace }: { readonly workspace: WorkspaceChoice | undefined }) {
  const oidc = useSignInWays().data?.oidc;
  const client = useQueryClient();
  const users = useRead<Page<UserObject>>(['users'], '/users', { enabled: oidc === null });
  const send = useSend('users');
  const [open, setOpen] = useState<Open>();
  const [invited, setInvited] = useState<InvitedUserObject>();
  const close = (): void => setOpen(undefined);
  const invite = async (body: NewUserObject): Promise<void> => {
    setInvited(await call<InvitedUserObject>('/users', { method: 'POST', body }));
    // The user may be a new member.
    await client.invalidateQueries({ predicate: ({ queryKey: [name] }) => name === 'users' || name === 'members' });
  };
  const renew = ({ address, role }: UserObject): Promise<void> => invite({ address, role });
  const remove = async ({ id }: UserObject): Promise<void> => {
    await send('DELETE', `/users/${id}`);
    setInvited((shown) => (shown?.id === id ? undefined : shown));
  };
  return (
    <>
      {invited !== undefined && (
        <SecretPanel
          title={`Invitation for ${invited.address}`}
          label="Link"
          hint="Send it to this person, who then chooses a password. It is shown this once, and works once, for 7 days."
          secret={`${location.origin}/#invitation=${invited.token}`}
          onDone={() => setInvited(undefined)}
        />
      )}
      <Card
        title="Local users"
        aside={oidc === null && <Button onPress={() => setOpen({ kind: 'invite' })}>Invite local user</Button>}
      >
        {oidc ? (
          <p className="muted">Off, because people sign in with {oidc.name}.</p>
        ) : (
          <Loaded query={users} lines={2}>
            {({ data }) => (
              <Table
                label="Local users"
                columns={columnsOf((kind, of) => setOpen({ kind, of }))}
                rows={data}
                rowKey={({ id }) => id}
                empty={<p className="muted">Nobody signs in with a password yet.</p>}
              />
            )}
          </Loaded>
        )}
      </Card>
      {open?.kind === 'invite' && (
        <Invite
          title={workspace === undefined ? 'Invite a local user' : `Invite a local user to ${workspace.name}`}
          action="Create link"
          hint="Weir sends no mail: you get a link for this person."
          roles={workspace === undefined ? [admin] : [...roleWords, admin, none]}
          onClose={close}
          onSubmit={({ address, role }) => {
            if (role === 'admin') return invite({ address, role });
            return invite(role === 'none' ? { address } : { address, workspace: workspace?.id, workspace_role: role });
          }}
        />
      )}
      {open !== undefined && open.kind !== 'invite' && (
        <Confirm
          {...questions[open.kind]}
          danger={open.kind === 'remove'}
          onClose={close}
          onConfirm={() => (open.kind === 'remove' ? remove(open.of) : renew(open.of))}
        >
          <p>
            <strong>{open.of.address}</strong> {questions[open.kind].text}
          </p>
        </Confirm>
      )}
    </>
  );
}
