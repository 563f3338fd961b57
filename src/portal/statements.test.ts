import { expect, it } from 'vitest';
import { sampleAuthor, sampleNow } from '../../test/support/sample-database.ts';
import { sampleOutcome } from '../../test/support/sample-outcome.ts';
import { call, samplePortal, withToken } from '../../test/support/sample-portal.ts';
import { addCredit } from '../books/accounts/credits.ts';

const july = '/api/v1/workspaces/acme/statements/2026-07';

it('answers with the statement of a month as JSON, and as CSV that a spreadsheet adds up', async () => {
  const { server, queries, ids, settle } = await samplePortal();
  await settle([sampleOutcome({ ...ids, requestId: 'r1', cost: 2_000_000n })]);
  const note = '=1+1';
  await addCredit(queries, 'acme', { amount: -1_000_000n, note }, { ...sampleAuthor, now: sampleNow + 9 });
  const made = await call(server, { url: july, headers: withToken });
  expect(made.body).toMatchObject({ usage: '0.000002', corrections: '-0.000001', closing_balance: '9.999997' });
  const csv = await server.inject({ url: july, headers: { ...withToken, accept: 'text/csv' } });
  expect(csv.headers['content-disposition']).toBe('attachment; filename="statement-2026-07.csv"');
  const lines = csv.body.split('\n');
  expect(lines.find((row) => row.includes(',usage,'))).toContain(',-0.000002,');
  expect(lines.find((row) => row.includes(',correction,'))).toMatch(/,'=1\+1,2026-07-01T00:00:00\.009Z,-0\.000001,/);
});

it.each([
  ['2026-7', 400, 'month: expected a month such as 2026-11'],
  ['2026-06', 400, 'its first is 2026-07'],
])('refuses the month %s', async (month, status, message) => {
  const { server } = await samplePortal();
  const answer = await server.inject({ url: `/api/v1/workspaces/acme/statements/${month}`, headers: withToken });
  expect(answer.statusCode).toBe(status);
  expect(answer.json()).toMatchObject({
    error: { message: expect.stringContaining(message) as string, field: 'month' },
  });
});

it('labels of a workspace are set, kept in order, refused if malformed, and removed', async () => {
  const { server } = await samplePortal();
  const set = (labels: object | null) =>
    call(server, { method: 'PATCH', url: '/api/v1/workspaces/acme', headers: withToken, payload: { labels } });
  expect(await set({ team: 'a', 'example.com/cost-centre': '42' })).toMatchObject({
    ...{ status: 200, body: { labels: { 'example.com/cost-centre': '42', team: 'a' } } },
  });
  expect(await set({ team: 'a b' })).toMatchObject({
    status: 400,
    body: { error: { field: 'labels', message: expect.stringContaining('expected at most 16 labels') as string } },
  });
  expect((await call(server, { url: july, headers: withToken })).body).toMatchObject({ labels: { team: 'a' } });
  expect(await set(null)).toMatchObject({ status: 200, body: { labels: null } });
});
