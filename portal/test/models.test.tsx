import { screen, waitFor, within } from '@testing-library/react';
import { expect, test } from 'vitest';
import type { ModelObject } from '../../src/portal/api/catalog.ts';
import { ModelSpeed } from '../src/pages/model-speed.tsx';
import { ModelsPage } from '../src/pages/models.tsx';
import { modelObject } from './support/objects.ts';
import { answerWith, json } from './support/portal.ts';
import { show } from './support/show.tsx';

function showModels(models: readonly Partial<ModelObject>[], at = '/models') {
  answerWith({ 'GET /models': json({ services: [], data: models.map(modelObject), next_cursor: null }) });
  return show(<ModelsPage />, { at });
}

const card = (id: string) => screen.findByRole('article', { name: id });
const names = () => screen.getAllByRole('article').map((one) => one.getAttribute('aria-label'));

test('an empty catalog says what it can mean', async () => {
  showModels([]);
  expect(await screen.findByText('The catalog is empty, or no service reports it.')).toBeVisible();
});

test('filters that no model passes say so', async () => {
  showModels([{}], '/models?takes=image');
  expect(await screen.findByRole('heading', { name: 'No such model' })).toBeVisible();
});

test('a model with too few requests says so in place of its speed and availability', async () => {
  showModels([{ id: 'a', availability: null, tokens_per_second_p50: null, first_token_ms_p50: null }, { id: 'b' }]);
  expect(within(await card('a')).getAllByText('too few requests yet')).toHaveLength(3);
  expect(within(await card('b')).queryByText('too few requests yet')).toBeNull();
});

test.each([
  [{ state: 'unavailable', reason: 'No endpoint is healthy.' }, ['Unavailable', 'No endpoint is healthy.']],
  [{ state: 'degraded', reason: 'One route has a problem.' }, ['Degraded', 'One route has a problem.']],
  [{ listed: false }, ['Not listed', 'Available']],
] as const)('a model with %j says so', async (given, words) => {
  showModels([{ id: 'a', ...given }]);
  for (const text of words) expect(within(await card('a')).getByText(text)).toBeVisible();
});

test('a model without prices has no facts about them', async () => {
  showModels([{ id: 'a', pricing: null }, { id: 'b' }]);
  expect(within(await card('a')).queryByText(/per million tokens/)).toBeNull();
  expect(within(await card('b')).getByText('$0.10')).toBeVisible();
});

test('models are found by a part of their name or of another name, and the address keeps it', async () => {
  const reader = showModels([{ id: 'qwen/small' }, { id: 'demo/chat', aliases: ['gpt-small'] }, { id: 'demo/code' }]);
  await card('demo/code');
  await reader.type(screen.getByLabelText('Find'), 'SMALL');
  expect(names()).toEqual(['qwen/small', 'demo/chat']);
  expect(location.search).toBe('?find=SMALL');
});

test('models without a number come last in its order', async () => {
  showModels(
    [{ id: 'a', context_length: null }, { id: 'b', context_length: 8_192 }, { id: 'c' }],
    '/models?sort=context',
  );
  await card('a');
  expect(names()).toEqual(['c', 'b', 'a']);
});

test('a catalog of a thousand models shows fifty, then more, and finds those that are not shown', async () => {
  const reader = showModels(Array.from({ length: 1_000 }, (_, at) => ({ id: `org/model-${at}` })));
  expect(await screen.findByText('50 of 1,000 models')).toBeVisible();
  expect(names()).toHaveLength(50);
  await reader.click(screen.getByRole('button', { name: 'Show more' }));
  expect(names()).toHaveLength(100);
  await reader.type(screen.getByLabelText('Find'), '999');
  expect(names()).toEqual(['org/model-999']);
  expect(screen.queryByRole('button', { name: 'Show more' })).toBeNull();
});

test('the routes and the examples of a model are there while they are open', async () => {
  const reader = showModels([{ id: 'a' }]);
  await card('a');
  expect(screen.queryByRole('tablist')).toBeNull();
  await reader.click(screen.getByText('How to call a'));
  expect(await screen.findByRole('tab', { name: 'curl' })).toBeVisible();
  expect(screen.getByRole('region', { name: 'curl, a' })).toHaveTextContent('"model": "a"');
  await reader.click(screen.getByText('How to call a'));
  await waitFor(() => expect(screen.queryByRole('tablist')).toBeNull());
});

test.each([
  [0, 'No request ended in the last 30 days.'],
  [1, /^Jul 1: first token after 120 ms \(median; p95 –\), then 80 tokens a second\.$/],
  [2, 'Charts appear when there are requests on 3 different days.'],
])('the speed of a model with requests on %i days is a sentence', (count, words) => {
  const days = Array.from({ length: count }, (_, at) => ({
    ...{ day: `2026-07-0${at + 1}`, requests: 3, first_token_p50_ms: 120, first_token_p95_ms: null },
    tokens_per_second: 80,
  }));
  show(<ModelSpeed days={days} />);
  expect(screen.getByText(words)).toBeVisible();
});
