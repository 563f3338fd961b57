import { useQueryClient } from '@tanstack/react-query';
import { useCallback, useState } from 'react';
import type { MemberChangeObject, MemberObject, NewMemberObject } from '../../../src/portal/api/members.ts';
import { call, type Page as ApiPage } from '../data/api.ts';
import { useRead } from '../data/calls.ts';
import { useMay } from '../data/rights.ts';
import { sessionKey, useSignInWays } from '../data/session.ts';
import { useChosenWorkspace, useWorkspaceChoices, type WorkspaceChoice } from '../data/workspaces.ts';
import { Button } from '../parts/button.tsx';
import { Confirm } from '../parts/dialog.tsx';
import { Card, Facts, Page } from '../parts/page.tsx';
import { Empty, Loaded, Notice } from '../parts/states.tsx';
import { WorkspaceSelect } from '../parts/workspace-select.tsx';
import { ChangeRole, Invite, roleWords } from './member-forms.tsx';
import { LocalUsers } from './local-users.tsx';
import { ServiceAccounts } from './service-accounts.tsx';
import { type MemberAction, MemberTable, nameOf } from './member-table.tsx';

type Open = { readonly kind: 'invite' } | { readonly kind: MemberAction; readonly of: MemberObject };

/** The people of a workspace: invite them, change their roles, remove them. */
export function MembersPage() {
  const choices = useWorkspaceChoices();
  const workspace = useChosenWorkspace();
  const may = useMay();
  const [open, setOpen] = useState<Open>();
  const invite = (
    <Button kind="primary" icon="plus" onPress={() => setOpen({ kind: 'invite' })}>
      Invite
    </Button>
  );
  return (
    <Page
      title="Members"
      about="People of a workspace, and what each may do in it."
      actions={workspace !== undefined && may('members:change') ? invite : undefined}
    >
      <div className="filters">
        <WorkspaceSelect />
      </div>
      {choices?.length === 0 && <Empty title="No workspace yet">Members belong to a workspace.</Empty>}
      {workspace !== undefined && (
        <Members of={workspace} mayChange={may('members:change')} open={open} onOpen={setOpen} />
      )}
      {may('users:change') && <LocalUsers workspace={workspace} />}
      {workspace !== undefined && <ServiceAccounts key={`accounts ${workspace.id}`} of={workspace} />}
      <Card title="Roles">
        <Facts facts={roleWords.map(({ word, text }) => ({ name: word, value: text }))} />
      </Card>
    </Page>
  );
}

interface MembersProps {
  readonly of: WorkspaceChoice;
  readonly mayChange: boolean;
  readonly open: Open | undefined;
  readonly onOpen: (open: Open | undefined) => void;
}

function Members({ of, mayChange, open, onOpen }: MembersProps) {
  const client = useQueryClient();
  const ways = useSignInWays();
  const path = `/workspaces/${of.id}/members`;
  const members = useRead<ApiPage<MemberObject>>(['members', of.id], path);
  const choose = useCallback((kind: MemberAction, member: MemberObject) => onOpen({ kind, of: member }), [onOpen]);
  const close = (): void => onOpen(undefined);
  const send = async (to: string, method: 'POST' | 'PATCH' | 'DELETE', body?: object): Promise<void> => {
    await call(to, { method, body });
    // People may change their own role.
    await Promise.all([
      client.invalidateQueries({ queryKey: ['members'] }),
      client.invalidateQueries({ queryKey: sessionKey }),
    ]);
  };
  return (
    <>
      {ways.data?.oidc === null && (
        <Notice tone="none">A role takes effect once an admin has invited its address as a local user.</Notice>
      )}
      <Loaded query={members}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty title="No members yet">
              Invite someone by e-mail address, or name a group of your identity provider like this workspace.
            </Empty>
          ) : (
            <MemberTable members={data} onChoose={mayChange ? choose : undefined} />
          )
        }
      </Loaded>
      {open?.kind === 'invite' && (
        <Invite
          title={`Invite to ${of.name}`}
          action="Invite"
          hint="The role holds from the first sign-in with this address on. Weir sends no mail: send the address of this portal yourself."
          roles={roleWords}
          onClose={close}
          onSubmit={(given: NewMemberObject) => send(path, 'POST', given)}
        />
      )}
      {open?.kind === 'role' && (
        <ChangeRole
          of={open.of}
          onClose={close}
          onSubmit={(given: MemberChangeObject) => send(`${path}/${open.of.id}`, 'PATCH', given)}
        />
      )}
      {open?.kind === 'remove' && (
        <Confirm
          title="Remove this member?"
          action="Remove"
          danger
          onClose={close}
          onConfirm={() => send(`${path}/${open.of.id}`, 'DELETE')}
        >
          <p>
            <strong>{nameOf(open.of)}</strong> loses the role in {of.name} at once. Keys that this person created
            continue to work.
          </p>
        </Confirm>
      )}
    </>
  );
}
