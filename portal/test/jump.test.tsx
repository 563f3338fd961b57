import { screen } from '@testing-library/react';
import { expect, test } from 'vitest';
import { Layout } from '../src/shell/layout.tsx';
import { adminSession, keyObject, modelObject, requestObject, workspace } from './support/objects.ts';
import { type Answer, answerWith, json, list } from './support/portal.ts';
import { show } from './support/show.tsx';

const keys: Answer = ({ query: { search = '' } }) =>
  list([keyObject({ id: 'key_7', name: 'notebooks' })].filter(({ id, name }) => `${id} ${name}`.includes(search)))(
    {} as never,
  );

async function open() {
  const sent = answerWith({
    'GET /workspaces': list([workspace, { ...workspace, id: 'ws_2', name: 'notes' }]),
    'GET /workspaces/ws_1/keys': keys,
    'GET /workspaces/ws_2/keys': list([]),
    'GET /models': json({ services: [], data: [modelObject({ id: 'org/note-taker' })], next_cursor: null }),
    'GET /requests': ({ query }) => list(query['search'] === 'chatcmpl-1' ? [requestObject()] : [])({} as never),
  });
  const reader = show(<Layout>page</Layout>);
  await reader.keyboard('{Control>}k{/Control}');
  await screen.findByRole('combobox', { name: /^Key, workspace, model or request/ });
  return { reader, sent };
}

const found = () => screen.queryAllByRole('option').map(({ textContent }) => textContent);

test('workspaces, models and keys are found by a part of their name, and one is chosen by keyboard', async () => {
  const { reader } = await open();
  await reader.keyboard('note');
  await expect.poll(found).toEqual(['Workspace notes', 'Model org/note-taker', 'Key notebooks acme']);
  await reader.keyboard('{ArrowDown}{ArrowDown}{Enter}');
  expect(location.pathname + location.search).toBe('/models?model=org%2Fnote-taker');
  expect(screen.queryByRole('combobox')).toBeNull();
});

test('Enter goes to the first place: here a key, by its id', async () => {
  const { reader } = await open();
  await reader.keyboard('key_7');
  await expect.poll(found).toEqual(['Key notebooks acme']);
  await reader.keyboard('{Enter}');
  expect(location.pathname + location.search).toBe('/keys?workspace=acme&search=key_7');
});

test('a request is found by its whole id', async () => {
  const { reader, sent } = await open();
  await reader.keyboard('chatcmpl-1');
  await expect.poll(found).toEqual(['Request chatcmpl-1 qwen/qwen3-8b']);
  await reader.keyboard('{Enter}');
  expect(location.pathname + location.search).toBe('/requests?request=chatcmpl-1');
  expect(sent.filter(({ call }) => call === 'GET /requests')).toHaveLength(1);
});

test('a text that nothing has says so, and Escape closes', async () => {
  const { reader } = await open();
  await reader.keyboard('zzz');
  expect(await screen.findByText('Nothing found')).toBeVisible();
  await reader.keyboard('{Escape}');
  await expect.poll(() => screen.queryByRole('combobox')).toBeNull();
});

test('the session of a key has no search', async () => {
  answerWith({});
  const reader = show(<Layout>page</Layout>, { as: { ...adminSession, role: 'key', key_id: 'key_1' } });
  await reader.keyboard('{Control>}k{/Control}');
  expect(screen.queryByRole('button', { name: /^Jump to/ })).toBeNull();
  expect(screen.queryByRole('dialog')).toBeNull();
});
