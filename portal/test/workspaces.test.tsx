import { screen, waitFor } from '@testing-library/react';
import { expect, test } from 'vitest';
import type { WorkspaceObject } from '../../src/portal/api/workspaces.ts';
import { WorkspacesPage } from '../src/pages/workspaces.tsx';
import { workspace } from './support/objects.ts';
import { type Answer, answerWith, changesIn, json, list, refusal } from './support/portal.ts';
import { show } from './support/show.tsx';

const limited: WorkspaceObject = {
  ...workspace,
  ...{ tokens_per_minute: 60_000, tag_tokens_per_minute: { 'team=search': 9_000, 'app=a:b': 7 } },
  ...{ labels: { 'cost-centre': '42' }, not_enforced: ['tag-tokens'] },
};

function showWorkspaces(of: WorkspaceObject, onChange: Answer = json(of)) {
  const sent = answerWith({ 'GET /workspaces': list([of]), 'PATCH /workspaces/ws_1': onChange });
  return { reader: show(<WorkspacesPage />), sent };
}

const field = (name: string) => screen.getByLabelText(name);
const open = async (reader: ReturnType<typeof show>) =>
  reader.click(await screen.findByRole('button', { name: 'Change the limit of acme' }));
const save = (reader: ReturnType<typeof show>) => reader.click(screen.getByRole('button', { name: 'Save' }));

test('the limits and labels of a workspace are in its row', async () => {
  showWorkspaces(limited);
  const row = await screen.findByRole('row', { name: /acme/ });
  expect(row).toHaveTextContent('cost-centre=42');
  expect(row).toHaveTextContent('256 at once60,000 tokens a minute');
  expect(row).toHaveTextContent('team=search: 9,000 tokens a minute');
  expect(row).toHaveTextContent('Count only: tokens of tags');
});

test('the form shows them, and sends nothing if nothing was changed', async () => {
  const { reader, sent } = showWorkspaces(limited);
  await open(reader);
  expect(field('Tokens a minute')).toHaveValue(60_000);
  expect(field('Tokens a minute of tags')).toHaveValue('team=search: 9000\napp=a:b: 7');
  expect(field('Labels')).toHaveValue('cost-centre=42');
  expect(screen.getByRole('checkbox', { name: 'Tokens of tags' })).toBeChecked();
  expect(screen.getByRole('checkbox', { name: 'Budgets of tags' })).not.toBeChecked();
  await save(reader);
  await waitFor(() => expect(screen.queryByRole('dialog')).toBeNull());
  expect(changesIn(sent)).toEqual([]);
});

test.each([
  ['Tokens a minute of tags', 'team=search: 5', { tag_tokens_per_minute: { 'team=search': 5 } }],
  ['Tokens a minute of tags', ' app=a:b:7 \n\nteam=ads:8', { tag_tokens_per_minute: { 'app=a:b': 7, 'team=ads': 8 } }],
  ['Tokens a minute of tags', '', { tag_tokens_per_minute: null }],
  ['Labels', 'team = search\ncost-centre=', { labels: { team: 'search', 'cost-centre': '' } }],
  ['Labels', '', { labels: null }],
  ['Tokens a minute', '', { tokens_per_minute: null }],
])('a changed field is sent alone: %s %j', async (name, text, change) => {
  const { reader, sent } = showWorkspaces(limited);
  await open(reader);
  const input = field(name);
  await reader.clear(input);
  if (text !== '') await reader.type(input, text);
  await save(reader);
  await waitFor(() => expect(changesIn(sent)).toEqual([{ call: 'PATCH /workspaces/ws_1', body: change }]));
});

test('limits that only count are sent by their names, and null enforces all', async () => {
  const { reader, sent } = showWorkspaces(limited);
  await open(reader);
  await reader.click(screen.getByRole('checkbox', { name: 'Concurrency' }));
  await save(reader);
  await open(reader);
  await reader.click(screen.getByRole('checkbox', { name: 'Tokens of tags' }));
  await save(reader);
  await waitFor(() =>
    expect(changesIn(sent).map(({ body }) => body)).toEqual([
      { not_enforced: ['concurrency', 'tag-tokens'] },
      { not_enforced: null },
    ]),
  );
});

test('a line that is no limit is refused by the server, beside the field', async () => {
  const message = '"team" is not a tag: expected name=value';
  const { reader, sent } = showWorkspaces(workspace, refusal(400, message, 'tag_tokens_per_minute'));
  await open(reader);
  await reader.type(field('Tokens a minute of tags'), 'team');
  await save(reader);
  const input = field('Tokens a minute of tags');
  await waitFor(() => expect(input).toHaveAccessibleDescription(new RegExp(message)));
  expect(changesIn(sent)).toMatchObject([{ body: { tag_tokens_per_minute: { team: 0 } } }]);
});
