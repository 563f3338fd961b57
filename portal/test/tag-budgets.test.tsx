import { screen, waitFor, within } from '@testing-library/react';
import { expect, test } from 'vitest';
import type { SessionObject } from '../../src/portal/api/session.ts';
import type { TagBudgetObject } from '../../src/portal/api/tags.ts';
import { TagBudgets } from '../src/pages/tag-budgets.tsx';
import { memberSession, viewerSession, workspace } from './support/objects.ts';
import { type Answer, answerWith, changesIn, json, list, refusal } from './support/portal.ts';
import { show } from './support/show.tsx';

const path = '/workspaces/ws_1/tag-budgets';
const ofSearch: TagBudgetObject = {
  ...{ tag: 'team=search', budget: { limit: '50', period: 'week' }, spent: '12.5', thresholds: [80] },
};
const owner = memberSession('owner', ['balance:read', 'tag-budgets:change']);

function showBudgets({
  budgets = [ofSearch],
  as = owner,
  onSet = json({ data: [], next_cursor: null }),
}: { readonly budgets?: readonly TagBudgetObject[]; readonly as?: SessionObject; readonly onSet?: Answer } = {}) {
  const sent = answerWith({ [`GET ${path}`]: list(budgets), [`POST ${path}`]: onSet, 'GET /workspaces': list([]) });
  return { reader: show(<TagBudgets of={workspace} />, { as }), sent };
}

const choose = async (reader: ReturnType<typeof show>, action: string): Promise<void> => {
  await reader.click(await screen.findByRole('button', { name: 'Actions on team=search' }));
  await reader.click(screen.getByRole('menuitem', { name: action }));
};

test('each budget of a tag is shown with what is spent of it; a viewer cannot change it', async () => {
  showBudgets({ as: viewerSession });
  expect(await screen.findByRole('row', { name: /team=search/ })).toHaveTextContent('$12.50 of $50.00 a week');
  expect(screen.queryByRole('button')).toBeNull();
});

test('without any says so', async () => {
  showBudgets({ budgets: [] });
  expect(await screen.findByText('No tag has a budget.')).toBeVisible();
});

test('an owner sets one for a new tag, changes one, and removes one', async () => {
  const { reader, sent } = showBudgets();
  await reader.click(await screen.findByRole('button', { name: 'Set budget of a tag' }));
  await reader.type(screen.getByLabelText('Tag'), 'app=web');
  await reader.type(screen.getByLabelText('Budget (USD)'), '5');
  await reader.click(screen.getByRole('button', { name: 'Save' }));
  await waitFor(() => expect(screen.queryByRole('dialog')).toBeNull());
  await choose(reader, 'Change');
  expect(screen.getByLabelText('Budget (USD)')).toHaveValue('50');
  expect(screen.getByLabelText('Period')).toHaveDisplayValue('Week');
  await reader.selectOptions(screen.getByLabelText('Period'), 'Day');
  await reader.click(screen.getByRole('button', { name: 'Save' }));
  await waitFor(() => expect(screen.queryByRole('dialog')).toBeNull());
  await choose(reader, 'Remove');
  await reader.click(within(screen.getByRole('alertdialog')).getByRole('button', { name: 'Remove' }));
  await waitFor(() =>
    expect(changesIn(sent).map(({ body }) => body)).toEqual([
      { tag: 'app=web', budget: { limit: '5', period: 'month' } },
      { tag: 'team=search', budget: { limit: '50', period: 'day' } },
      { tag: 'team=search', budget: null },
    ]),
  );
});

test('an error about the tag describes its field', async () => {
  const { reader } = showBudgets({ onSet: refusal(400, '"team" is not a tag: expected name=value', 'tag') });
  await reader.click(await screen.findByRole('button', { name: 'Set budget of a tag' }));
  await reader.type(screen.getByLabelText('Tag'), 'team');
  await reader.type(screen.getByLabelText('Budget (USD)'), '5');
  await reader.click(screen.getByRole('button', { name: 'Save' }));
  await waitFor(() => expect(screen.getByLabelText('Tag')).toHaveAccessibleDescription(/is not a tag/));
});
