import { screen, waitFor } from '@testing-library/react';
import { expect, test } from 'vitest';
import type { WorkspaceObject } from '../../src/portal/api/workspaces.ts';
import { BalancePage } from '../src/pages/balance.tsx';
import { usageLine, viewerSession, workspace } from './support/objects.ts';
import { answerWith, json, list } from './support/portal.ts';
import { show } from './support/show.tsx';

interface Shown {
  readonly of?: Partial<WorkspaceObject>;
  /** USD in 30 days. */
  readonly spent?: string;
}

function showBalance({ of = {}, spent = '30' }: Shown = {}) {
  answerWith({
    'GET /workspaces/ws_1': json({ ...workspace, ...of }),
    'GET /workspaces/ws_1/alerts': json({ thresholds: [], data: [], next_cursor: null }),
    'GET /workspaces/ws_1/tag-budgets': list([]),
    'GET /workspaces/ws_1/credits': list([]),
    'GET /usage': list([usageLine({ cost: spent })]),
  });
  show(<BalancePage />, { as: viewerSession });
}

const figure = (name: string) => screen.findByRole('region', { name });

test('a balance is rounded down, and the exact one is beside it', async () => {
  showBalance({ of: { balance: '9.999999' } });
  expect(await figure('Balance of acme')).toHaveTextContent('$9.99exactly $9.999999');
});

test.each([
  ['0', 'Nothing is left to spend. Calls with keys of acme get HTTP 402 until a credit is added.'],
  ['-0.01', 'Nothing is left to spend. Calls with keys of acme get HTTP 402 until a credit is added.'],
])('a workspace with %s USD says what its calls get', async (balance, words) => {
  showBalance({ of: { balance } });
  expect(await screen.findByRole('alert')).toHaveTextContent(words);
  expect(await figure('Runs out')).toHaveTextContent('nowadd a credit');
});

test('a workspace that may owe still has something to spend', async () => {
  showBalance({ of: { balance: '-1', credit_limit: '5' } });
  expect(await figure('Balance of acme')).toHaveTextContent('exactly -$1.00; may go down to −$5.00');
  expect(screen.queryByRole('alert')).toBeNull();
});

test.each([
  ['0', '–nothing was spent in 30 days'],
  ['30', /in 25 days, if spending continues at this rate$/],
  ['0.0001', 'in over 10 years'],
])('after %s USD in 30 days, 25 USD run out: %s', async (spent, words) => {
  showBalance({ spent });
  await waitFor(() => expect(screen.queryByRole('region', { name: 'Runs out' })).toHaveTextContent(words));
});

test('a viewer sees the credits and adds none', async () => {
  showBalance();
  expect(await screen.findByText('Nothing was put in yet.')).toBeVisible();
  expect(screen.queryByRole('button')).toBeNull();
});
