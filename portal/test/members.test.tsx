import { screen, waitFor, within } from '@testing-library/react';
import { describe, expect, test } from 'vitest';
import type { SessionObject } from '../../src/portal/api/session.ts';
import { MembersPage } from '../src/pages/members.tsx';
import { memberObject, memberSession, viewerSession } from './support/objects.ts';
import { type Answer, answerWith, changesIn, list, json, refusal } from './support/portal.ts';
import { show } from './support/show.tsx';

const owner = memberSession('owner', ['members:read', 'members:change']);
const members = '/workspaces/ws_1/members';

interface Shown {
  readonly as?: SessionObject;
  readonly members?: Answer;
  readonly hasOidc?: boolean;
  readonly answers?: Readonly<Record<string, Answer>>;
}

function showMembers({ as = owner, members: some = list([memberObject()]), hasOidc = true, answers = {} }: Shown = {}) {
  const sent = answerWith({
    [`GET ${members}`]: some,
    'GET /service-accounts': list([]),
    'GET /sign-in': json({
      token: true,
      key: true,
      password: !hasOidc,
      oidc: hasOidc ? { name: 'Accounts', url: '/x' } : null,
    }),
    ...answers,
  });
  return { reader: show(<MembersPage />, { as }), sent };
}

const row = (name: string) => screen.findByRole('row', { name: new RegExp(name) });

test('a viewer sees the members and can change nothing', async () => {
  showMembers({ as: viewerSession });
  expect(await row('ada@example.com')).toHaveTextContent('Owner');
  expect(screen.queryByRole('button')).toBeNull();
});

test('an owner can invite, change and remove', async () => {
  const { reader } = showMembers();
  await reader.click(within(await row('ada@example.com')).getByRole('button', { name: 'Actions on ada@example.com' }));
  expect(screen.getAllByRole('menuitem').map(({ textContent }) => textContent)).toEqual(['Change role', 'Remove']);
  await reader.keyboard('{Escape}');
  expect(screen.getByRole('button', { name: 'Invite' })).toBeEnabled();
});

test('a member by a group has no actions: the group is changed at the identity provider', async () => {
  showMembers({ members: list([memberObject({ source: 'group', invited_by: null })]) });
  expect(await row('ada@example.com')).toHaveTextContent('Group of the identity provider');
  expect(screen.queryByRole('button', { name: /Actions on/ })).toBeNull();
});

test.each([
  [{ last_sign_in_at: null }, 'Not signed in yet'],
  [{ invited_by: null }, 'Invited by an admin'],
  [{ address: null, name: 'Ada L.' }, 'Ada L.'],
])('a member with %j reads %s', async (given, words) => {
  showMembers({ members: list([memberObject(given)]) });
  expect((await screen.findAllByText(words))[0]).toBeVisible();
});

test('a workspace without members says how they come', async () => {
  showMembers({ members: list([]) });
  expect(await screen.findByRole('heading', { name: 'No members yet' })).toBeVisible();
});

describe('an invitation', () => {
  test('needs an address, and has the role member unless another is chosen', async () => {
    const { reader, sent } = showMembers({
      answers: { [`POST ${members}`]: json(memberObject()), 'GET /session': json(owner) },
    });
    await reader.click(await screen.findByRole('button', { name: 'Invite' }));
    const dialog = within(screen.getByRole('dialog', { name: 'Invite to acme' }));
    const address = dialog.getByLabelText('E-mail address');
    expect(address).toHaveFocus();
    await reader.type(address, 'bo');
    await reader.click(dialog.getByRole('button', { name: 'Invite' }));
    expect(changesIn(sent)).toEqual([]);
    await reader.type(address, '@example.com');
    await reader.click(dialog.getByRole('button', { name: 'Invite' }));
    await expect.poll(() => screen.queryByRole('dialog')).toBeNull();
    expect(changesIn(sent)).toEqual([{ call: `POST ${members}`, body: { address: 'bo@example.com', role: 'member' } }]);
  });

  test('of an address that is refused says why at the field', async () => {
    const answers = { [`POST ${members}`]: refusal(409, 'bo@example.com is a member already.', 'address') };
    const { reader } = showMembers({ answers });
    await reader.click(await screen.findByRole('button', { name: 'Invite' }));
    await reader.type(screen.getByLabelText('E-mail address'), 'bo@example.com{Enter}');
    await waitFor(() =>
      expect(screen.getByLabelText('E-mail address')).toHaveAccessibleDescription(
        /bo@example\.com is a member already\.$/,
      ),
    );
    expect(screen.queryByRole('alert')).toBeNull();
  });
});

describe('the last owner', () => {
  const why = 'The last owner of a workspace stays: make another member an owner first.';

  test('cannot become less: the dialog stays open and says why', async () => {
    const { reader } = showMembers({ answers: { [`PATCH ${members}/member_1`]: refusal(409, why) } });
    await reader.click(within(await row('ada@example.com')).getByRole('button'));
    await reader.click(screen.getByRole('menuitem', { name: 'Change role' }));
    const dialog = within(screen.getByRole('dialog', { name: 'Role of ada@example.com' }));
    await reader.selectOptions(dialog.getByLabelText('Role'), 'viewer');
    await reader.click(dialog.getByRole('button', { name: 'Save' }));
    expect((await dialog.findByRole('alert')).textContent).toBe(why);
  });

  test('cannot be removed', async () => {
    const { reader } = showMembers({ answers: { [`DELETE ${members}/member_1`]: refusal(409, why) } });
    await reader.click(within(await row('ada@example.com')).getByRole('button'));
    await reader.click(screen.getByRole('menuitem', { name: 'Remove' }));
    const dialog = within(screen.getByRole('alertdialog', { name: 'Remove this member?' }));
    await reader.click(dialog.getByRole('button', { name: 'Remove' }));
    expect((await dialog.findByRole('alert')).textContent).toBe(why);
  });
});

test('a role that was not changed is not sent', async () => {
  const { reader, sent } = showMembers();
  await reader.click(within(await row('ada@example.com')).getByRole('button'));
  await reader.click(screen.getByRole('menuitem', { name: 'Change role' }));
  await reader.click(screen.getByRole('button', { name: 'Save' }));
  await expect.poll(() => screen.queryByRole('dialog')).toBeNull();
  expect(changesIn(sent)).toEqual([]);
});
