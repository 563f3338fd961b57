import { act, screen, within } from '@testing-library/react';
import { describe, expect, test } from 'vitest';
import type { IdentityObject } from '../../src/portal/api/identities.ts';
import { IdentitiesPage } from '../src/pages/identities.tsx';
import { useLiveData } from '../src/shell/live-data.ts';
import { groupsOf } from '../src/shell/navigation.ts';
import { emit } from './support/browser.ts';
import {
  adminSession,
  identityObject,
  keyObject,
  memberSession,
  now,
  problemObject,
  workspace,
} from './support/objects.ts';
import { type Answer, answerWith, changesIn, json, list, refusal, silence } from './support/portal.ts';
import { show } from './support/show.tsx';

function LivePage() {
  useLiveData();
  return <IdentitiesPage />;
}

function showIdentities(
  identities: readonly Partial<IdentityObject>[],
  {
    answers = {},
    at = '/identities',
  }: { readonly answers?: Readonly<Record<string, Answer>>; readonly at?: string } = {},
) {
  const sent = answerWith({
    'GET /identities': list(identities.map(identityObject)),
    'GET /workspaces': list([{ ...workspace, id: 'ws_0', name: 'aaa' }, workspace]),
    'GET /models': silence,
    ...answers,
  });
  return { reader: show(<LivePage />, { at }), sent };
}

const row = (name: string) => screen.findByRole('row', { name: new RegExp(name) });

describe('the page Identities', () => {
  const titles = (...given: Parameters<typeof groupsOf>) =>
    groupsOf(...given).flatMap((group) => group.map(({ title }) => title));

  test('is in the menu of those whose rights allow it, where identities are switched on', () => {
    expect(titles(adminSession)).toContain('Identities');
    expect(titles({ ...adminSession, identities: false })).not.toContain('Identities');
    expect(titles(memberSession('owner', ['keys:read', 'keys:change']))).not.toContain('Identities');
  });

  test('without identities says what to do next', async () => {
    showIdentities([]);
    expect(await screen.findByRole('heading', { name: 'No identities yet' })).toBeVisible();
  });

  test('that cannot be loaded says why', async () => {
    showIdentities([], { answers: { 'GET /identities': refusal(503, 'The database does not answer.') } });
    expect(await screen.findByRole('alert')).toHaveTextContent('The database does not answer.');
  });

  test('has rules, payer and limits of each in the words of keys', async () => {
    showIdentities([
      {
        id: 'i1',
        name: 'one',
        budget: { limit: '5', period: 'week' },
        models: ['qwen/*'],
        match: ['claims.a', 'claims.b'],
      },
      { id: 'i2', name: 'two', workspace: null, workspace_claim: 'claims.team', each: 'identity', status: 'suspended' },
    ]);
    for (const text of [
      'Accepted',
      'cluster',
      'for weir',
      'claims.a',
      'claims.b',
      'acme',
      '$5.00 a week',
      'each subject',
    ])
      expect(await row('one')).toHaveTextContent(text);
    expect(await row('one')).toHaveTextContent(/qwen\/\*.*100 a second.*200 at once/);
    for (const text of ['Suspended', 'claims.team', 'No budget', 'all subjects together'])
      expect(await row('two')).toHaveTextContent(text);
  });

  test('says why an object is not accepted, and leaves other problems to the Overview', async () => {
    showIdentities([{}]);
    await row('search');
    const refused = (object: string) => problemObject({ kind: 'object-refused', object });
    act(() => emit('health', { at: now, problems: ['Identity/ads', 'tokens', 'Backend/gpu'].map(refused) }));
    const table = screen.getByRole('table', { name: 'Refused identities and tokens' });
    for (const object of ['Identity/ads', 'tokens']) expect(within(table).getByText(object)).toBeVisible();
    expect(screen.queryByText('Backend/gpu')).toBeNull();
  });

  test.each([
    [true, 'Managed by Identity team/search', 0],
    [false, 'Declared by Identity team/search', 1],
  ])('has actions unless an object manages the identity (locked: %s)', async (locked, words, menus) => {
    showIdentities([{ declared_by: { kind: 'Identity', namespace: 'team', name: 'search', locked } }]);
    expect(await row('search')).toHaveTextContent(words);
    expect(screen.queryAllByRole('button', { name: 'Actions on search' })).toHaveLength(menus);
  });
});

describe('an identity', () => {
  const field = (name: string) => screen.getByLabelText(name);
  const choose = async (reader: ReturnType<typeof show>, action: string): Promise<void> => {
    await reader.click(within(await row('search')).getByRole('button', { name: 'Actions on search' }));
    await reader.click(screen.getByRole('menuitem', { name: action }));
  };

  test('is created with what was typed, and the rest as the server sets it', async () => {
    const { reader, sent } = showIdentities([], { answers: { 'POST /identities': json(identityObject()) } });
    await reader.click(await screen.findByRole('button', { name: 'Create identity' }));
    await reader.type(await screen.findByLabelText('Name'), 'search');
    await reader.type(field('Issuer'), 'cluster');
    await reader.type(field('Audience'), 'weir');
    await reader.type(field('Match'), ' claims.a == "="\n\nclaims.b');
    await reader.selectOptions(field('Workspace'), 'acme');
    await reader.type(field('Tags'), 'app = claims.a == "x" ? "=" : "y"\nteam=claims.b\nempty');
    await reader.selectOptions(field('Bound'), 'yes');
    await reader.click(screen.getByRole('button', { name: 'Create' }));
    await expect.poll(() => screen.queryByRole('dialog')).toBeNull();
    const body = {
      ...{ name: 'search', issuer: 'cluster', audience: 'weir', match: ['claims.a == "="', 'claims.b'] },
      ...{ workspace: 'acme', tags: { app: 'claims.a == "x" ? "=" : "y"', team: 'claims.b', empty: '' }, bound: true },
    };
    expect(changesIn(sent)).toEqual([{ call: 'POST /identities', body }]);
  });

  test('that the server refuses shows the reason at its field, and at no other', async () => {
    const message = 'workspace_claim: "claims." is no expression';
    const answers = { 'PATCH /identities/identity_1': refusal(400, message, 'workspace_claim') };
    const { reader } = showIdentities([{ workspace: null, workspace_claim: 'claims.a' }], { answers });
    await choose(reader, 'Edit');
    await reader.type(await screen.findByLabelText('Claim'), '.');
    await reader.click(screen.getByRole('button', { name: 'Save' }));
    await expect.poll(() => field('Claim').getAttribute('aria-invalid')).toBe('true');
    expect(field('Claim')).toHaveAccessibleDescription(new RegExp('is no expression'));
    expect(screen.queryByRole('alert')).toBeNull();
  });

  test('that is edited sends only what changed, and nothing if nothing did', async () => {
    const { reader, sent } = showIdentities([{ tags: { app: 'claims.a' } }], {
      answers: { 'PATCH /identities/identity_1': json(identityObject()) },
    });
    const save = async (): Promise<void> => {
      await reader.click(screen.getByRole('button', { name: 'Save' }));
      await expect.poll(() => screen.queryByRole('dialog')).toBeNull();
    };
    await choose(reader, 'Edit');
    await save();
    expect(changesIn(sent)).toEqual([]);
    await choose(reader, 'Edit');
    await reader.selectOptions(field('Payer'), 'workspace_claim');
    await reader.type(field('Claim'), 'claims.team');
    await reader.clear(field('Tags'));
    await reader.type(field('Budget (USD)'), '5');
    await save();
    const body = { workspace_claim: 'claims.team', tags: {}, budget: { limit: '5', period: 'month' } };
    expect(changesIn(sent)).toEqual([{ call: 'PATCH /identities/identity_1', body }]);
  });

  test.each([
    ['active', 'Suspend', 'suspended'],
    ['suspended', 'Resume', 'active'],
    ['active', 'Revoke', 'revoked'],
  ] as const)('that is %s: %s asks first', async (status, action, wanted) => {
    const { reader, sent } = showIdentities([{ status }], {
      answers: { 'PATCH /identities/identity_1': json(identityObject()) },
    });
    await choose(reader, action);
    expect(changesIn(sent)).toEqual([]);
    await reader.click(within(screen.getByRole('alertdialog')).getByRole('button', { name: action }));
    await expect
      .poll(() => changesIn(sent))
      .toEqual([{ call: 'PATCH /identities/identity_1', body: { status: wanted } }]);
  });
});

describe('the accounts of an identity', () => {
  const at = '/identities?identity=identity_1';

  test('have what each subject spent, its budget and its last use, and lead to its row among the keys', async () => {
    const account = { identity: { id: 'identity_1', name: 'search', subject: 'ci/build' }, prefix: null };
    const budget = { limit: '5', period: 'week' } as const;
    const data = [
      keyObject({ ...account, id: 'key_7', spent: '4.1', budget }),
      keyObject({ ...account, id: 'key_8', identity: { ...account.identity, subject: null } }),
    ];
    showIdentities([{}], { answers: { 'GET /identities/identity_1/accounts': list(data) }, at });
    const dialog = within(await screen.findByRole('dialog', { name: 'Accounts of search' }));
    const link = await dialog.findByRole('link', { name: 'ci/build' });
    expect(link).toHaveAttribute('href', '/keys?workspace=acme&search=key_7');
    expect(dialog.getByRole('row', { name: /ci\/build/ })).toHaveTextContent(/Active\$4\.10 of \$5\.00 a weekNever/);
    expect(dialog.getByRole('row', { name: /All subjects/ })).toHaveTextContent('$0.00, no budget');
  });

  test('are opened from the table, closed again, and may be none', async () => {
    const { reader } = showIdentities([{}], { answers: { 'GET /identities/search/accounts': list([]) } });
    await reader.click(await screen.findByRole('link', { name: 'Accounts of search' }));
    expect(await screen.findByText(/None yet/)).toBeVisible();
    await reader.click(screen.getByRole('button', { name: 'Close' }));
    await expect.poll(() => screen.queryByRole('dialog')).toBeNull();
    expect(location.search).toBe('');
  });
});
