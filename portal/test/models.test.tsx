import { screen, within } from '@testing-library/react';
import { expect, test, vi } from 'vitest';
import type { ModelObject } from '../../src/portal/api/catalog.ts';
import type { UsageLineObject } from '../../src/portal/api/usage.ts';
import { ModelSpeed } from '../src/pages/model-speed.tsx';
import { ModelsPage } from '../src/pages/models.tsx';
import { Sparkline } from '../src/parts/sparkline.tsx';
import { modelObject, now, usageLine } from './support/objects.ts';
import { answerWith, json, list } from './support/portal.ts';
import { show } from './support/show.tsx';

vi.mock(import('../src/parts/sparkline.tsx'), async (original) => ({
  Sparkline: vi.fn<typeof Sparkline>((await original()).Sparkline),
}));

function showModels(models: readonly Partial<ModelObject>[], at = '/models', usage: readonly UsageLineObject[] = []) {
  answerWith({
    'GET /models': json({ services: [], data: models.map(modelObject), next_cursor: null }),
    'GET /models/history': json({ model: 'a', prices: [], days: [], traffic: null }),
    'GET /backends': json({ services: [], data: [], next_cursor: null }),
    'GET /usage': list(usage),
    'GET /workspaces': list([]),
  });
  return show(<ModelsPage />, { at });
}

const row = async (id: string): Promise<HTMLElement> => {
  const name = await screen.findByRole('rowheader', { name: id });
  if (name.parentElement === null) throw new Error('a cell without a row');
  return name.parentElement;
};
const names = () => screen.getAllByRole('rowheader').map(({ textContent }) => textContent);

test('an empty catalog says what it can mean', async () => {
  showModels([]);
  expect(await screen.findByText('The catalog is empty, or no service reports it.')).toBeVisible();
});

test('filters that no model passes say so', async () => {
  showModels([{}], '/models?takes=image');
  expect(await screen.findByRole('heading', { name: 'No such model' })).toBeVisible();
});

test('a row has state, prices, context, what it takes and makes, speed, the requests of a day, and a way to try it', async () => {
  vi.useFakeTimers({ now: Date.parse(now), toFake: ['Date'] });
  const line = (hour: string, requests: number) => usageLine({ hour, model: 'a', requests });
  showModels([{ id: 'a' }, { id: 'b', kind: 'embedding', pricing: null, context_length: null }], '/models', [
    line('2026-07-15T11:00:00.000Z', 3),
    line('2026-07-15T12:00:00.000Z', 4),
  ]);
  expect(await screen.findByRole('img', { name: '7 requests' })).toBeVisible();
  expect([...(await row('a')).children].map(({ textContent }) => textContent)).toEqual([
    ...['a', 'Available', '$0.10', '$0.01', '$0.40', '32.8K', 'Text', 'Chat', '120 ms', '80', '', 'Try'],
  ]);
  expect(
    within(await row('a'))
      .getByRole('link', { name: 'Try a' })
      .getAttribute('href'),
  ).toBe('/playground?model=a');
  expect([...(await row('b')).children].map(({ textContent }) => textContent)).toEqual([
    ...['b', 'Available', '–', '–', '–', '–', 'Text', 'Embedding', '120 ms', '80', '', ''],
  ]);
});

test.each([
  [{ state: 'unavailable' }, ['Unavailable']],
  [{ state: 'degraded' }, ['Degraded']],
  [{ availability: null, tokens_per_second_p50: null, first_token_ms_p50: null }, ['Unknown']],
  [{ listed: false }, ['Not listed', 'Available']],
] as const)('a model with %j says so', async (given, words) => {
  showModels([{ id: 'a', ...given }]);
  for (const text of words) expect(within(await row('a')).getByText(text)).toBeVisible();
});

test('models are found by a part of their name or of another name, and the address keeps it', async () => {
  const reader = showModels([{ id: 'qwen/small' }, { id: 'demo/chat', aliases: ['gpt-small'] }, { id: 'demo/code' }]);
  await row('demo/code');
  await reader.type(screen.getByLabelText('Find'), 'SMALL');
  expect(names()).toEqual(['qwen/small', 'demo/chat']);
  expect(location.search).toBe('?find=SMALL');
});

test('a figure sorts the models, the greatest first and those without one last', async () => {
  const reader = showModels([{ id: 'a', context_length: null }, { id: 'b', context_length: 8_192 }, { id: 'c' }]);
  await row('a');
  await reader.click(screen.getByRole('button', { name: 'Context' }));
  expect(names()).toEqual(['c', 'b', 'a']);
});

test('a catalog of a thousand models shows fifty low rows, then more, and finds those that are not shown', async () => {
  const reader = showModels(Array.from({ length: 1_000 }, (_, at) => ({ id: `org/model-${at}` })));
  expect(await screen.findByText('50 of 1,000 models')).toBeVisible();
  expect(names()).toHaveLength(50);
  expect(screen.getByRole('table').closest('.table')).toHaveAttribute('data-low');
  await reader.click(screen.getByRole('button', { name: 'Show more' }));
  expect(names()).toHaveLength(100);
  await reader.type(screen.getByLabelText('Find'), '999');
  expect(names()).toEqual(['org/model-999']);
  expect(screen.getByRole('table').closest('.table')).not.toHaveAttribute('data-low');
  expect(screen.queryByRole('button', { name: 'Show more' })).toBeNull();
});

test('a model opens at the side with the rest, and the address keeps the filter', async () => {
  const reader = showModels([{ id: 'a', reason: 'One route has a problem.', state: 'degraded' }], '/models?find=a');
  await reader.click(within(await row('a')).getByRole('link', { name: 'a' }));
  const sheet = await screen.findByRole('dialog', { name: 'a' });
  expect(location.search).toBe('?find=a&model=a');
  expect(await within(sheet).findByText('One route has a problem.')).toBeVisible();
  expect(await within(sheet).findByRole('region', { name: 'curl, a' })).toHaveTextContent('"model": "a"');
  await reader.keyboard('{Escape}');
  expect(location.search).toBe('?find=a');
});

test('a model that opens renders no other row again, whatever the filter', async () => {
  const reader = showModels([{ id: 'a1' }, { id: 'a2' }, { id: 'a3' }], '/models?find=a');
  await row('a2');
  await screen.findAllByRole('img', { name: '0 requests' });
  vi.mocked(Sparkline).mockClear();
  await reader.click(within(await row('a2')).getByRole('link', { name: 'a2' }));
  await screen.findByRole('dialog', { name: 'a2' });
  expect(Sparkline).toHaveBeenCalledTimes(1);
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
