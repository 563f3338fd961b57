import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback, useState } from 'react';
import type { MemberChangeObject, MemberObject, NewMemberObject } from '../../../src/portal/api/members.ts';
import { call, type Page as ApiPage } from '../data/api.ts';
import { useMay } from '../data/rights.ts';
import { sessionKey, useSignInWays } from '../data/session.ts';
import { useChosenWorkspace, useWorkspaceChoices, type WorkspaceChoice } from '../data/workspaces.ts';
import { Button } from '../parts/button.tsx';
import { Confirm } from '../parts/dialog.tsx';
import { Card, Facts, Page } from '../parts/page.tsx';
import { Empty, Loaded, Notice } from '../parts/states.tsx';
import { WorkspaceSelect } from '../parts/workspace-select.tsx';
import { ChangeRole, InviteMember, roleWords } from './member-forms.tsx';
import { ServiceAccounts } from './service-accounts.tsx';
import { type MemberAction, MemberTable, nameOf } from './member-table.tsx';

type Open =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'invite' }
  | { readonly kind: MemberAction; readonly of: MemberObject };

const nothing: Open = { kind: 'nothing' };

/** The people of a workspace: invite them, change their roles, remove them. */
export function MembersPage() {
  const choices = useWorkspaceChoices();
  const workspace = useChosenWorkspace();
  const may = useMay();
  const [isInviting, setInviting] = useState(false);
  const invite = (
    <Button kind="primary" icon="plus" onPress={() => setInviting(true)}>
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
      {choices?.length === 0 && (
        <Empty title="No workspace yet">
          <p>Members belong to a workspace.</p>
        </Empty>
      )}
      {workspace !== undefined && (
        <Members
          key={workspace.id}
          of={workspace}
          mayChange={may('members:change')}
          isInviting={isInviting}
          onInvited={() => setInviting(false)}
        />
      )}
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
  readonly isInviting: boolean;
  readonly onInvited: () => void;
}

function Members({ of, mayChange, isInviting, onInvited }: MembersProps) {
  const client = useQueryClient();
  const ways = useSignInWays();
  const [chosen, setChosen] = useState<Open>(nothing);
  const path = `/workspaces/${of.id}/members`;
  const members = useQuery({ queryKey: ['members', of.id], queryFn: () => call<ApiPage<MemberObject>>(path) });
  const choose = useCallback((kind: MemberAction, member: MemberObject) => setChosen({ kind, of: member }), []);
  const close = (): void => setChosen(nothing);
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
        <Notice tone="warn">
          <p>People sign in with OpenID Connect, which is not set up. Invitations hold as soon as it is.</p>
        </Notice>
      )}
      <Loaded query={members}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty title="No members yet">
              <p>Invite someone by e-mail address, or name a group of your identity provider like this workspace.</p>
            </Empty>
          ) : (
            <MemberTable members={data} onChoose={mayChange ? choose : undefined} />
          )
        }
      </Loaded>
      {isInviting && (
        <InviteMember
          workspace={of.name}
          onClose={onInvited}
          onSubmit={(given: NewMemberObject) => send(path, 'POST', given)}
        />
      )}
      {chosen.kind === 'role' && (
        <ChangeRole
          of={chosen.of}
          onClose={close}
          onSubmit={(given: MemberChangeObject) => send(`${path}/${chosen.of.id}`, 'PATCH', given)}
        />
      )}
      {chosen.kind === 'remove' && (
        <Confirm
          title="Remove this member?"
          action="Remove"
          danger
          isOpen
          onClose={close}
          onConfirm={() => send(`${path}/${chosen.of.id}`, 'DELETE')}
        >
          <p>
            <strong>{nameOf(chosen.of)}</strong> loses the role in {of.name} at once. Keys that this person created
            continue to work.
          </p>
        </Confirm>
      )}
    </>
  );
}
