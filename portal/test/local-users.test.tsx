import { screen, waitFor, within } from '@testing-library/react';
import { expect, test, vi } from 'vitest';
import type { UserObject } from '../../src/portal/api/users.ts';
import { LocalUsers } from '../src/pages/local-users.tsx';
import { MembersPage } from '../src/pages/members.tsx';
import { memberSession, now, workspace } from './support/objects.ts';
import { type Answer, answerWith, changesIn, json, list, refusal } from './support/portal.ts';
import { show } from './support/show.tsx';

const user = (given: Partial<UserObject> = {}): UserObject => ({
  ...{ id: 'user_1', address: 'ada@example.com', role: 'member', has_password: true, invited_until: null },
  ...{ created_at: now, last_sign_in_at: null },
  ...given,
});

interface Shown {
  readonly users?: Answer;
  readonly oidc?: object | null;
  readonly hasWorkspace?: boolean;
  readonly answers?: Readonly<Record<string, Answer>>;
}

function showUsers({ users = list([user()]), oidc = null, hasWorkspace = true, answers = {} }: Shown = {}) {
  const sent = answerWith({
    'GET /sign-in': json({ token: true, key: true, password: oidc === null, oidc }),
    ...(oidc === null && { 'GET /users': users }),
    ...answers,
  });
  return { reader: show(<LocalUsers workspace={hasWorkspace ? workspace : undefined} />), sent };
}

const row = (name: string) => screen.findByRole('row', { name: new RegExp(name) });
const invited = json({
  ...user({ has_password: false, invited_until: '2026-07-22T12:00:00.000Z' }),
  token: 'the-token',
});

test('an identity provider takes the place of local users: the list is not read, and one sentence says why', async () => {
  showUsers({ oidc: { name: 'Accounts', url: '/x' } });
  expect(await screen.findByText('Off, because people sign in with Accounts.')).toBeVisible();
  expect(screen.queryByRole('button')).toBeNull();
});

test('without a user the list says so', async () => {
  showUsers({ users: list([]) });
  expect(await screen.findByText('Nobody signs in with a password yet.')).toBeVisible();
});

test('a list that could not be loaded can be tried again', async () => {
  showUsers({ users: refusal(503, 'The database does not answer.') });
  expect(await screen.findByText('The database does not answer.')).toBeVisible();
  expect(screen.getByRole('button', { name: 'Try again' })).toBeEnabled();
});

test.each([
  [{}, 'Joined'],
  [{ has_password: false, invited_until: '2026-07-22T12:00:00.000Z' }, 'Invited until Jul 22, 2026, 2:00 PM'],
  [{ has_password: false, invited_until: '2026-07-14T12:00:00.000Z' }, 'Invitation expired'],
  [{ invited_until: '2026-07-22T12:00:00.000Z' }, 'Joined, new link until Jul 22, 2026, 2:00 PM'],
  [{ invited_until: '2026-07-14T12:00:00.000Z' }, 'Joined'],
] as const)('a user with %j reads: %s', async (given, words) => {
  vi.useFakeTimers({ now: Date.parse(now), toFake: ['Date'] });
  showUsers({ users: list([user(given)]) });
  expect([...(await row('ada')).children].slice(0, 4).map(({ textContent }) => textContent)).toEqual([
    ...['ada@example.com', 'Member', words, 'Never'],
  ]);
});

test('an invitation gives a role in the workspace, and shows its link once, outside of the HTML', async () => {
  const { reader, sent } = showUsers({ answers: { 'POST /users': invited } });
  await reader.click(await screen.findByRole('button', { name: 'Invite local user' }));
  const dialog = within(screen.getByRole('dialog', { name: 'Invite a local user to acme' }));
  await reader.type(dialog.getByLabelText('E-mail address'), 'ada@example.com');
  await reader.selectOptions(dialog.getByLabelText('Role'), 'owner');
  await reader.click(dialog.getByRole('button', { name: 'Create link' }));
  const panel = within(await screen.findByRole('region', { name: 'Invitation for ada@example.com' }));
  await waitFor(() => expect(panel.getByLabelText('Link')).toHaveFocus());
  expect(panel.getByLabelText('Link')).toHaveValue(`${location.origin}/#invitation=the-token`);
  expect(document.body.innerHTML).not.toContain('the-token');
  await reader.click(panel.getByRole('button', { name: 'Copy' }));
  expect(await navigator.clipboard.readText()).toBe(`${location.origin}/#invitation=the-token`);
  await reader.click(panel.getByRole('button', { name: 'Done' }));
  expect(screen.queryByLabelText('Link')).toBeNull();
  expect(changesIn(sent)).toEqual([
    {
      call: 'POST /users',
      body: { address: 'ada@example.com', workspace: workspace.id, workspace_role: 'owner' },
    },
  ]);
});

test.each([
  ['admin', true, { role: 'admin' }],
  ['none', true, {}],
  [undefined, false, { role: 'admin' }],
] as const)('the role %s needs no workspace (is there one: %s)', async (role, hasWorkspace, body) => {
  const { reader, sent } = showUsers({ hasWorkspace, answers: { 'POST /users': invited } });
  await reader.click(await screen.findByRole('button', { name: 'Invite local user' }));
  await reader.type(screen.getByLabelText('E-mail address'), 'ada@example.com');
  if (role !== undefined) await reader.selectOptions(screen.getByLabelText('Role'), role);
  await reader.click(screen.getByRole('button', { name: 'Create link' }));
  await screen.findByLabelText('Link');
  expect(changesIn(sent)).toEqual([{ call: 'POST /users', body: { address: 'ada@example.com', ...body } }]);
});

test('an address that is refused says why at the field', async () => {
  const answers = { 'POST /users': refusal(409, 'ada@example.com is a member of "acme" already.', 'address') };
  const { reader } = showUsers({ answers });
  await reader.click(await screen.findByRole('button', { name: 'Invite local user' }));
  await reader.type(screen.getByLabelText('E-mail address'), 'ada@example.com{Enter}');
  await waitFor(() =>
    expect(screen.getByLabelText('E-mail address')).toHaveAccessibleDescription(/is a member of "acme" already\.$/),
  );
});

test('a new link keeps the role of the user, and asks first', async () => {
  const { reader, sent } = showUsers({
    users: list([user({ role: 'admin' })]),
    answers: { 'POST /users': invited },
  });
  await reader.click(within(await row('ada')).getByRole('button', { name: 'Actions on local user ada@example.com' }));
  await reader.click(screen.getByRole('menuitem', { name: 'New link' }));
  const question = within(screen.getByRole('alertdialog', { name: 'Create a new link?' }));
  await reader.click(question.getByRole('button', { name: 'Create link' }));
  await screen.findByLabelText('Link');
  expect(changesIn(sent)).toEqual([{ call: 'POST /users', body: { address: 'ada@example.com', role: 'admin' } }]);
});

test('a user is removed after a question, which says why if that fails', async () => {
  let isThere = true;
  const { reader, sent } = showUsers({
    answers: {
      'DELETE /users/user_1': (one) =>
        isThere ? new Response(null, { status: 204 }) : refusal(404, 'No such user.')(one),
    },
  });
  const remove = async () => {
    await reader.click(within(await row('ada')).getByRole('button', { name: /^Actions on/ }));
    await reader.click(screen.getByRole('menuitem', { name: 'Remove' }));
    const question = within(screen.getByRole('alertdialog', { name: 'Remove this user?' }));
    await reader.click(question.getByRole('button', { name: 'Remove' }));
    return question;
  };
  await remove();
  await waitFor(() => expect(screen.queryByRole('alertdialog')).toBeNull());
  expect(changesIn(sent)).toEqual([{ call: 'DELETE /users/user_1', body: undefined }]);
  isThere = false;
  expect(await (await remove()).findByText('No such user.')).toBeVisible();
});

test('only an admin sees local users on the page of members', async () => {
  answerWith({
    'GET /sign-in': json({ token: true, key: true, password: true, oidc: null }),
    'GET /workspaces/ws_1/members': list([]),
    'GET /service-accounts': list([]),
  });
  show(<MembersPage />, { as: memberSession('owner', ['members:read', 'members:change']) });
  expect(await screen.findByText(/once an admin has invited its address as a local user\.$/)).toBeVisible();
  expect(screen.queryByRole('heading', { name: 'Local users' })).toBeNull();
});
