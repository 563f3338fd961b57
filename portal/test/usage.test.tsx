import { screen, waitFor, within } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { UsageLineObject } from '../../src/portal/api/usage.ts';
import type { Usage, UsageFilter, UsageQuestion } from '../src/data/usage.ts';
import { timeOf } from '../src/data/usage-range.ts';
import { RecentCost } from '../src/pages/recent-cost.tsx';
import { UsagePage } from '../src/pages/usage.tsx';
import { UsageCharts } from '../src/pages/usage-charts.tsx';
import { UsageGroups } from '../src/pages/usage-groups.tsx';
import { UsageTotals } from '../src/pages/usage-totals.tsx';
import { now, usageLine, viewerSession } from './support/objects.ts';
import { answerWith, json, refusal, silence } from './support/portal.ts';
import { show } from './support/show.tsx';

// Charts draw on a canvas, which jsdom does not have. Their tables say the same.
vi.mock('../src/parts/chart.tsx', () => ({ TimeChart: () => null }));

const nowMs = Date.parse(now);
const filter: UsageFilter = {
  from: '2026-07-14T13:00:00.000Z',
  to: undefined,
  workspace: 'acme',
  key: undefined,
  model: undefined,
};
const report = (lines: readonly UsageLineObject[]) =>
  Response.json({ from: null, to: null, data: lines, next_cursor: null });

describe('the cost of the last 24 hours', () => {
  function showRecent(lines: readonly UsageLineObject[]) {
    answerWith({
      'GET /usage': ({ query }) =>
        report(query['by'] === 'hour' ? lines : lines.map((line) => ({ ...line, model: 'demo/chat' }))),
    });
    show(<RecentCost filter={filter} now={nowMs} />);
  }
  const hours = (count: number, given: Partial<UsageLineObject> = {}) =>
    Array.from({ length: count }, (_, at) => usageLine({ hour: `2026-07-15T0${at}:00Z`, ...given }));

  test('without requests is a sentence that leads on', async () => {
    showRecent([]);
    expect(await screen.findByText(/^No request ended in the last 24 hours\./)).toBeVisible();
    expect(screen.getByRole('link', { name: 'Usage of 30 days' })).toHaveAttribute('href', '/usage?range=30d');
  });

  test.each([
    [1, { requests: 1, cost: '0.002' }, /^One request for \$0\.0020\. Charts appear when/],
    [2, { requests: 600, cost: '1.5' }, /^1,200 requests for \$3\.00\. Charts appear when/],
  ])('with requests in %i hours is a sentence', async (count, given, words) => {
    showRecent(hours(count, given));
    expect(await screen.findByText(words)).toBeVisible();
    expect(screen.queryByText('Cost as a table')).toBeNull();
  });

  test('with requests in three hours is charts with tables', async () => {
    showRecent(hours(3));
    expect(await screen.findByText('Cost as a table')).toBeVisible();
  });
});

describe('the totals of a time', () => {
  const time = timeOf('24h', nowMs);
  function showTotals(current: readonly UsageLineObject[], before: readonly UsageLineObject[]) {
    answerWith({ 'GET /usage': ({ query }) => report(query['from'] === time.before.from ? before : current) });
    show(<UsageTotals filter={filter} time={time} />);
  }
  const figure = (name: string) => screen.findByRole('region', { name });

  test('are waited for', () => {
    answerWith({ 'GET /usage': silence });
    show(<UsageTotals filter={filter} time={time} />);
    expect(screen.getByRole('status', { name: 'Loading' })).toBeVisible();
  });

  test('that could not be read are an alert', async () => {
    answerWith({ 'GET /usage': refusal(503, 'The database does not answer.') });
    show(<UsageTotals filter={filter} time={time} />);
    expect(await screen.findByRole('alert')).toHaveTextContent('The database does not answer.');
  });

  test('have their change against the time before', async () => {
    showTotals(
      [usageLine({ cost: '3', requests: 10, errors: 3, first_token_p50_ms: 120, first_token_p95_ms: 400 })],
      [usageLine({ cost: '2', requests: 20, errors: 1 })],
    );
    await waitFor(() =>
      expect(screen.getByRole('region', { name: 'Cost' })).toHaveTextContent(/^Cost\$3\.00up 50% vs\. \$2\.00$/),
    );
    expect(await figure('Requests')).toHaveTextContent('10down 50% vs. 20');
    expect(await figure('Tokens')).toHaveTextContent('1,000unchanged');
    expect(await figure('Errors')).toHaveTextContent('3up 200% vs. 1');
    // More errors are bad; more cost is only more.
    expect(within(await figure('Errors')).getByText(/200%/)).toHaveAttribute('data-tone', 'bad');
    expect(within(await figure('Cost')).getByText(/50%/)).not.toHaveAttribute('data-tone');
    expect(await figure('Time to first token')).toHaveTextContent('120 msmedian; p95 400 ms');
  });

  test('of requests without an answer have no time to the first token', async () => {
    showTotals([usageLine({ first_token_p50_ms: null, first_token_p95_ms: null })], []);
    expect(await figure('Time to first token')).toHaveTextContent('–median');
    await waitFor(() => expect(screen.getByRole('region', { name: 'Cost' })).toHaveTextContent(/none before$/));
  });
});

describe('a month', () => {
  beforeEach(() => vi.useFakeTimers({ toFake: ['Date'], now: nowMs }));
  afterEach(() => vi.useRealTimers());

  const [june, may] = ['2026-06-01T00:00:00.000Z', '2026-05-01T00:00:00.000Z'];
  const model = (id: string | null, cost: string) => usageLine({ model: id, cost });

  function showMonth(at: string, before: readonly UsageLineObject[]) {
    answerWith({
      'GET /tags': json({ data: [] }),
      'GET /usage': ({ query: { from, by } }) => {
        if (by === 'day') return report([usageLine({ day: '2026-06-03' })]);
        if (by === 'day,model') return report([usageLine({ day: '2026-06-03', model: 'dear' })]);
        if (by === undefined) return report([usageLine({ cost: from === may ? '10' : '12' })]);
        return report(from === june ? [model('dear', '9'), model('fresh', '2'), model(null, '1')] : before);
      },
    });
    show(<UsagePage />, { as: viewerSession, at });
  }
  const rows = async () => {
    const table = within(await screen.findByRole('table', { name: 'Usage by model' }));
    await waitFor(() => expect(table.getByRole('columnheader', { name: /Share/ })).toBeVisible());
    return table.getAllByRole('row').map((row) => row.textContent);
  };

  test.each(['range=last-month', 'range=custom&first=2026-06-01&last=2026-06-30'])(
    'of %s begins with its table, and each line is compared with the month before',
    async (range) => {
      showMonth(`/usage?${range}&workspace=acme`, [model('dear', '10')]);
      expect(await rows()).toEqual([
        expect.stringMatching(/^ModelCostShareMonth beforeChangeRequests/),
        expect.stringMatching(/^dear\$9\.0075%\$10\.00down 10%/),
        expect.stringMatching(/^fresh\$2\.0016\.7%\$0\.00new/),
        expect.stringMatching(/^Others\$1\.008\.3%––/),
        expect.stringMatching(/^Total\$12\.00100%\$10\.00up 20%/),
      ]);
      expect(screen.getByRole('heading', { level: 2, name: 'June 2026 by model' })).toBeVisible();
      expect(screen.getByText('Days in UTC. Compared with the month before.')).toBeVisible();
      const figure = screen.getByRole('region', { name: 'Cost' });
      expect(screen.getByRole('table', { name: 'Usage by model' }).compareDocumentPosition(figure)).toBe(
        Node.DOCUMENT_POSITION_FOLLOWING,
      );
      expect(screen.getByRole('link', { name: 'Statement of acme' })).toHaveAttribute(
        'href',
        '/balance?workspace=acme&statement=2026-06',
      );
    },
  );

  test('does not say that a group is new if it may be one of the others of the month before', async () => {
    showMonth('/usage?range=last-month&workspace=acme', [model('dear', '10'), model(null, '3')]);
    expect((await rows())[2]).toMatch(/^fresh\$2\.0016\.7%––/);
  });

  test('that has not ended is compared with the same days', async () => {
    showMonth('/usage?range=month&workspace=acme', [model('dear', '10')]);
    expect((await rows())[0]).toMatch(/Same days before/);
  });
});

const question = (by: UsageQuestion['by'], given: Partial<UsageFilter> = {}): UsageQuestion => ({
  ...{ filter: { ...filter, from: '2026-07-13T00:00:00.000Z', ...given }, by, top: 8 },
});
const usage = (by: UsageQuestion['by'], lines: readonly UsageLineObject[], given?: Partial<UsageFilter>): Usage => ({
  ...{ asked: question(by, given), lines },
});

describe('the table of a chart', () => {
  async function openTable(grouped: Usage, title: string) {
    const reader = show(<UsageCharts totals={usage(['day'], grouped.lines)} grouped={grouped} now={nowMs} />);
    await reader.click(screen.getByText(`${title} as a table`));
    const table = within(await screen.findByRole('table', { name: `${title} over time` }));
    return table.getAllByRole('row').map((row) => {
      const cells = [...within(row).queryAllByRole('columnheader'), ...within(row).queryAllByRole('rowheader')];
      return [...cells, ...within(row).queryAllByRole('cell')].map(({ textContent }) => textContent);
    });
  }
  const line = (day: string, model: string | null, cost: string) =>
    usageLine({ day, model, cost, first_token_p50_ms: null });

  test('has the most expensive group first, all others last, and zero for days without requests', async () => {
    const lines = [line('2026-07-13', 'cheap', '1'), line('2026-07-15', 'dear', '30'), line('2026-07-15', null, '900')];
    expect(await openTable(usage(['day', 'model'], lines), 'Cost')).toEqual([
      ['Time', 'dear', 'cheap', 'Others'],
      ['Jul 13', '$0.00', '$1.00', '$0.00'],
      ['Jul 14', '$0.00', '$0.00', '$0.00'],
      ['Jul 15', '$30.00', '$0.00', '$900.00'],
    ]);
  });

  test('of failures has a share, and a dash for days without requests', async () => {
    const lines = [usageLine({ day: '2026-07-13', model: 'demo/chat', requests: 8, errors: 2 })];
    expect(await openTable(usage(['day', 'model'], lines), 'Failure rate')).toEqual([
      ['Time', 'Failed'],
      ['Jul 13', '25%'],
      ['Jul 14', '–'],
      ['Jul 15', '–'],
    ]);
  });

  test('of times has a dash for days without an answer', async () => {
    const lines = [line('2026-07-13', 'demo/chat', '1')];
    expect(await openTable(usage(['day', 'model'], lines), 'Time to first token')).toEqual([
      ['Time', 'p50', 'p95'],
      ['Jul 13', '–', '400 ms'],
      ['Jul 14', '–', '–'],
      ['Jul 15', '–', '–'],
    ]);
  });

  test('of a single day has one row', async () => {
    const grouped = usage(['day', 'model'], [line('2026-07-15', 'demo/chat', '1')], {
      from: '2026-07-15T00:00:00.000Z',
    });
    expect(await openTable(grouped, 'Requests')).toEqual([
      ['Time', 'demo/chat'],
      ['Jul 15', '10'],
    ]);
  });
});

describe('the sums of groups', () => {
  const rowNames = () => screen.getAllByRole('rowheader').map(({ textContent }) => textContent);

  test('of keys have names and workspaces, lead to their requests, and sort', async () => {
    const lines = [
      usageLine({ key: 'key_1', key_name: 'CI', key_workspace: 'acme', cost: '3' }),
      usageLine({ key: 'key_2', key_name: null, key_workspace: null, cost: '20' }),
      usageLine({ key: null, cost: '1' }),
    ];
    const reader = show(<UsageGroups usage={usage(['key'], lines)} />);
    expect(rowNames()).toEqual(['CI', 'key_2', 'Others']);
    expect(screen.getByRole('link', { name: 'CI' })).toHaveAttribute('href', '/requests?key=key_1');
    expect(screen.queryByRole('link', { name: 'Others' })).toBeNull();
    await reader.click(screen.getByRole('button', { name: 'Cost' }));
    expect(rowNames()).toEqual(['key_2', 'CI', 'Others']);
    await reader.click(screen.getByRole('button', { name: 'Key' }));
    expect(rowNames()).toEqual(['CI', 'key_2', 'Others']);
  });

  test('of a tag name the requests without it', () => {
    show(<UsageGroups usage={usage(['tag'], [usageLine({ tag: '' }), usageLine({ tag: 'search' })])} />);
    expect(rowNames()).toEqual(['Without this tag', 'search']);
    expect(screen.queryByRole('link')).toBeNull();
  });
});
