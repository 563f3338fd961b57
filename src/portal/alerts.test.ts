// @suite both-databases
import { expect, it } from 'vitest';
import { sampleNow } from '../../test/support/sample-database.ts';
import { call, samplePortal } from '../../test/support/sample-portal.ts';
import { sampleOutcome } from '../../test/support/sample-outcome.ts';
import { parseUsd } from '../core/money.ts';
import { recordReached } from '../books/accounts/alerts.ts';

const acme = '/api/v1/workspaces/acme';

it('a workspace has alerts at its thresholds, which an admin sets', async () => {
  const { server, queries, workspace } = await samplePortal();
  const set = (percents: unknown) => call(server, { method: 'POST', url: `${acme}/thresholds`, payload: { percents } });
  expect(await set([90, 10, 10])).toMatchObject({ status: 200, body: { thresholds: [10, 90] } });
  await queries
    .updateTable('workspaces')
    .set({ balance: (workspace.balance * 8n) / 10n })
    .where('id', '=', workspace.id)
    .execute();
  expect(await recordReached(queries, sampleNow)).toBe(1);
  const { body } = await call(server, { url: `${acme}/alerts` });
  expect(body).toMatchObject({
    thresholds: [10, 90],
    data: [{ kind: 'balance', key: null, key_name: null, percent: 10, delivery: 'none' }],
    next_cursor: null,
  });
  expect(await set([])).toMatchObject({ body: { thresholds: [] } });
  expect(await set(null)).toMatchObject({ body: { thresholds: [50, 80, 95] } });
});

it('the budget of a tag has alerts at its thresholds, which are set with it', async () => {
  const { server, queries, ids, settle } = await samplePortal();
  const tag = 'team=search';
  const set = async (thresholds?: unknown) => {
    const payload = { tag, budget: { limit: '4', period: 'day' }, thresholds };
    return call(server, { method: 'POST', url: `${acme}/tag-budgets`, payload });
  };
  expect(await set()).toMatchObject({ status: 200, body: { data: [{ tag, thresholds: [50, 80, 95] }] } });
  expect(await set([30])).toMatchObject({ body: { data: [{ thresholds: [30] }] } });
  expect(await set([101])).toMatchObject({
    status: 400,
    body: { error: { field: expect.stringMatching(/thresholds/) } },
  });
  await settle([sampleOutcome({ ...ids, tags: tag, cost: parseUsd('1.5') ?? 0n, startedAt: sampleNow })]);
  await recordReached(queries, sampleNow);
  const { body } = await call(server, { url: `${acme}/alerts` });
  expect(body).toMatchObject({
    data: expect.arrayContaining([
      expect.objectContaining({ kind: 'tag', tag, key: null, percent: 30, used: '1.5', limit: '4' }),
    ]),
  });
  expect(await set(null)).toMatchObject({ body: { data: [{ thresholds: [50, 80, 95] }] } });
});

it.each([[[0]], [[101]], [[1.5]], ['50'], [Array.from({ length: 11 }, (_, index) => index + 1)]])(
  'refuses %j as thresholds',
  async (percents) => {
    const { server } = await samplePortal();
    const answer = await call(server, { method: 'POST', url: `${acme}/thresholds`, payload: { percents } });
    expect(answer).toMatchObject({
      status: 400,
      body: { error: { field: expect.stringMatching(/percents|thresholds/) } },
    });
  },
);
