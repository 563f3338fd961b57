import { act, screen, within } from '@testing-library/react';
import { expect, test } from 'vitest';
import type { TopListObject, TopRowObject } from '../../src/portal/api/top.ts';
import { TopPage } from '../src/pages/top.tsx';
import { useLiveData } from '../src/shell/live-data.ts';
import { emit } from './support/browser.ts';
import { now, problemObject } from './support/objects.ts';
import { answerWith, json, refusal, silence } from './support/portal.ts';
import { show } from './support/show.tsx';

function LivePage() {
  useLiveData();
  return <TopPage />;
}

const service = { service: 'http://10.0.0.1:9090', answers: true, problem: null };

const row = (given: Partial<TopRowObject>): TopRowObject => ({
  ...{ name: 'key_1', label: 'acme, CI', requests: 1, refused: {}, would_refuse: {}, failed: 0, in_flight: 0 },
  ...{ prompt_tokens: 0, completion_tokens: 0, cost: '0' },
  ...given,
});

const top = (data: readonly TopRowObject[], services: TopListObject['services'] = [service]) =>
  json({ services, data, next_cursor: null });

/** The text of each cell of the body's rows. */
const cells = (): readonly (readonly (string | null)[])[] =>
  screen
    .getAllByRole('row')
    .slice(1)
    .map((shown) => [...shown.querySelectorAll('th, td')].map(({ textContent }) => textContent));

test('the last minute is waited for', () => {
  answerWith({ 'GET /top': silence });
  show(<TopPage />);
  expect(screen.getByRole('status', { name: 'Loading' })).toBeVisible();
});

test('a minute that cannot be read is an alert with a second try', async () => {
  answerWith({ 'GET /top': refusal(503, 'The database does not answer.') });
  show(<TopPage />);
  expect(await screen.findByRole('alert')).toHaveTextContent('The database does not answer.');
  expect(screen.getByRole('button', { name: 'Try again' })).toBeVisible();
});

test('a minute without requests is a sentence', async () => {
  answerWith({ 'GET /top': top([]) });
  show(<TopPage />);
  expect(await screen.findByRole('heading', { name: 'No requests' })).toBeVisible();
  expect(screen.queryByRole('table')).toBeNull();
});

test('each row has the name, the refusals with their codes, the tokens and the cost', async () => {
  answerWith({
    'GET /top': top([
      row({
        ...{ requests: 1200, refused: { rate_limit_exceeded: 1000, budget_exceeded: 20 }, failed: 3, in_flight: 7 },
        ...{ prompt_tokens: 900, completion_tokens: 100, cost: '1.5' },
      }),
      row({ name: 'key_2', label: null, requests: 5 }),
      row({ name: null, label: null, requests: 2 }),
    ]),
  });
  show(<TopPage />);
  const table = await screen.findByRole('table', { name: 'Top' });
  expect(
    within(table)
      .getAllByRole('columnheader')
      .map(({ textContent }) => textContent),
  ).toEqual([...['Name', 'Requests', 'Refused', 'Failed', 'In flight', 'Tokens', 'Cost']]);
  expect(cells()).toEqual([
    ['acme, CIkey_1', '1,200', '1,020rate_limit_exceeded, budget_exceeded', '3', '7', '1,000', '$1.50'],
    ['key_2', '5', '0', '0', '0', '0', '$0.00'],
    ['Others', '2', '0', '0', '0', '0', '$0.00'],
  ]);
});

test('refused, failed and running requests sort the rows', async () => {
  answerWith({
    'GET /top': top([
      row({ name: 'a', label: null, requests: 9, failed: 1 }),
      row({ name: 'b', label: null, requests: 8, refused: { rate_limit_exceeded: 8 } }),
      row({ name: 'c', label: null, requests: 1, in_flight: 4 }),
    ]),
  });
  const reader = show(<TopPage />);
  await screen.findByRole('table');
  const first: (string | null | undefined)[] = [];
  for (const title of ['Refused', 'Failed', 'In flight']) {
    const button = screen.getByRole('button', { name: title });
    await reader.click(button);
    if (screen.getByRole('columnheader', { name: title }).getAttribute('aria-sort') === 'ascending') {
      await reader.click(button);
    }
    first.push(cells()[0]?.[0]);
  }
  expect(first).toEqual(['b', 'a', 'c']);
});

test.each([
  ['/top', 'key', 'Key'],
  ['/top?by=address', 'address', 'Address'],
  ['/top?by=nothing', 'key', 'Key'],
])('the address %s groups by %s', async (at, by, label) => {
  const sent = answerWith({ 'GET /top': top([]) });
  show(<TopPage />, { at });
  await screen.findByRole('heading', { name: 'No requests' });
  expect(sent[0]?.query).toEqual({ by });
  expect(screen.getByRole('radio', { name: label })).toBeChecked();
});

test('another group is read at once, and kept in the address', async () => {
  const sent = answerWith({ 'GET /top': (asked) => top([row({ name: asked.query['by'] ?? '', label: null })])(asked) });
  const reader = show(<TopPage />);
  await reader.click(await screen.findByRole('radio', { name: 'Outcome' }));
  expect(await screen.findByText('outcome')).toBeVisible();
  expect(sent.at(-1)?.query).toEqual({ by: 'outcome' });
  expect(location.search).toBe('?by=outcome');
});

test('a service that does not answer is named above the rows of the others', async () => {
  answerWith({ 'GET /top': top([row({})]) });
  show(<LivePage />);
  await screen.findByRole('table', { name: 'Top' });
  act(() => emit('health', { at: now, problems: [problemObject({ kind: 'service-silent', object: 'service/b' })] }));
  expect(screen.getByRole('table', { name: 'Silent services' })).toHaveTextContent('service/b');
  expect(screen.getByRole('table', { name: 'Top' })).toBeVisible();
});

test('the rows are read again and again', async () => {
  const second = Promise.withResolvers<void>();
  let requests = 0;
  answerWith({
    'GET /top': (sent) => {
      requests += 1;
      if (requests === 2) second.resolve();
      return top([row({ requests })])(sent);
    },
  });
  show(<TopPage />);
  expect(await screen.findByRole('cell', { name: '1' })).toBeVisible();
  await second.promise;
  expect(await screen.findByRole('cell', { name: '2' })).toBeVisible();
});
