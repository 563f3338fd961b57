import { screen, within } from '@testing-library/react';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { StatementLineObject, StatementObject } from '../../src/portal/api/statements.ts';
import { BalancePage } from '../src/pages/balance.tsx';
import { now, viewerSession } from './support/objects.ts';
import { answerWith, json, refusal } from './support/portal.ts';
import { show } from './support/show.tsx';

beforeEach(() => vi.useFakeTimers({ toFake: ['Date'], now: Date.parse(now) }));
afterEach(() => vi.useRealTimers());

const line = (given: Partial<StatementLineObject>): StatementLineObject => ({
  ...{ by: 'key', tag: null, id: 'key_1', name: 'CI', requests: 10, prompt_tokens: 900, cached_tokens: 0 },
  ...{ completion_tokens: 100, reasoning_tokens: 0, web_searches: 0, cost: '1.000000000001', share: 66.67 },
  cost_before: '0.5',
  ...given,
});

const statement: StatementObject = {
  ...{ workspace: 'acme', workspace_id: 'ws_1', month: '2026-06', state: 'closed', labels: { 'cost-centre': '42' } },
  ...{ opening_balance: '10', credits: '5', corrections: '-1', usage: '1.500000000001', usage_before: '0.5' },
  ...{ late_usage: '0.25', closing_balance: '12.249999999999' },
  entries: [
    { id: 'credit_1', at: '2026-06-02T09:00:00.000Z', amount: '5', note: null },
    { id: 'credit_2', at: '2026-06-03T09:00:00.000Z', amount: '-1', note: 'twice' },
  ],
  late: [{ month: '2026-05', key: 'key_1', key_name: 'CI', requests: 2, cost: '0.25' }],
  lines: [
    line({}),
    line({ id: 'key_2', name: null, cost: '0.5', share: 33.33, cost_before: '0' }),
    line({ by: 'identity', id: null, name: null, cost: '1.500000000001', share: 100 }),
    line({ by: 'tag', tag: 'team', id: 'search', name: null }),
    line({ by: 'tag', tag: 'team', id: null, name: null, cost: '0.5', share: 33.33, cost_before: '0' }),
  ],
  totals: { requests: 12, credits: '14', costs: '1.750000000001' },
};

const texts = async (table: string): Promise<readonly (string | null)[]> =>
  within(await screen.findByRole('table', { name: table }))
    .getAllByRole('row')
    .map((row) => row.textContent);

test('a statement shows balances, credits, late usage and what was used, to the last unit', async () => {
  answerWith({ 'GET /workspaces/ws_1/statements/2026-06': json(statement) });
  show(<BalancePage />, { as: viewerSession, at: '/balance?workspace=acme&statement=2026-06' });
  expect(await screen.findByRole('heading', { level: 1, name: 'Statement for June 2026' })).toBeVisible();
  expect(await texts('Account')).toEqual([
    'SumUSD',
    'Opening balance$10.00',
    'Credits$5.00',
    'Corrections-$1.00',
    'Usage (the month before: $0.50)-$1.500000000001',
    'Late usage of closed months-$0.25',
    'Closing balance$12.249999999999',
  ]);
  expect((await texts('Credits and corrections')).at(-1)).toBe('Jun 3, 2026, 09:00 UTCCorrection-$1.00twice');
  expect((await texts('Late usage')).at(-1)).toBe('May 2026CI2$0.25');
  expect(await texts('Keys')).toEqual([
    'NameRequestsPrompt tokensOutput tokensCostShareMonth beforeChange',
    'CI10900100$1.00000000000166.7%$0.50up 100%',
    'key_210900100$0.5033.3%$0.00new',
    'All$1.500000000001100%$0.50up 200%',
  ]);
  expect((await texts('Tag team'))[2]).toMatch(/^\(none\)/);
  expect(screen.queryByRole('table', { name: 'Identities' })).toBeNull();
  expect(screen.getByText('cost-centre').nextSibling).toHaveTextContent('42');
  expect(screen.queryByText(/This month is open/)).toBeNull();
});

test('a month is chosen, an open one says so, and one without a statement says why', async () => {
  answerWith({
    'GET /workspaces/ws_1/statements/2026-07': json({ ...statement, month: '2026-07', state: 'open' }),
    'GET /workspaces/ws_1/statements/2024-08': refusal(400, 'Its first is 2026-06.', 'month'),
  });
  const reader = show(<BalancePage />, { as: viewerSession, at: '/balance?statement=2026-07' });
  expect(await screen.findByText(/This month is open/)).toBeVisible();
  await reader.selectOptions(screen.getByLabelText('Month'), 'August 2024');
  expect(await screen.findByText(/Its first is 2026-06/)).toBeVisible();
});

test('a statement is printed, and a long list refers to the file', async () => {
  const lines = Array.from({ length: 203 }, (_, at) => line({ id: `key_${at}` }));
  answerWith({ 'GET /workspaces/ws_1/statements/2026-06': json({ ...statement, lines }) });
  const print = vi.fn<() => void>();
  vi.stubGlobal('print', print);
  const reader = show(<BalancePage />, { as: viewerSession, at: '/balance?statement=2026-06' });
  expect((await texts('Keys')).at(-1)).toBe('All, with 3 more of the CSV$1.500000000001100%$0.50up 200%');
  await reader.click(screen.getByRole('button', { name: 'Print' }));
  expect(print).toHaveBeenCalledOnce();
});
