import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { sampleAuthor, sampleNow } from '../../test/support/sample-database.ts';
import { sampleOutcome } from '../../test/support/sample-outcome.ts';
import { call, samplePortal, withToken } from '../../test/support/sample-portal.ts';
import { createKey } from '../books/accounts/keys.ts';
import { usageKeyColumns, usageMeasures } from '../books/ledger/usage-rollup.ts';

const usage = '/api/v1/usage';
const [keys, models, days] = [300, 20, 90];
const day = 86_400_000;

interface Line {
  readonly model: string | null;
  readonly key: string | null;
  readonly requests: number;
}

/** A portal with 300 keys that were used on each of 90 days, in each hour of the last one. Its table of requests is not there. */
async function busyPortal() {
  const portal = await samplePortal();
  const { queries, settle, ids } = portal;
  const all = await Promise.all(
    Array.from({ length: keys }, () => createKey(queries, { workspace: 'acme', rate: 1, burst: 1 }, sampleAuthor)),
  );
  const last = sampleNow + (days - 1) * day;
  await settle(
    all.map(({ key }, index) =>
      sampleOutcome({
        ...{ ...ids, keyId: key.id, requestId: `r${index}`, modelId: `org/model-${index % models}` },
        ...{ startedAt: last, cost: BigInt(index + 1) },
      }),
    ),
  );
  const others = [...usageKeyColumns.slice(1), ...usageMeasures].join(', ');
  for (const [table, count, step] of [
    ['usage_days', days, -1],
    ['usage_hours', 24, 1],
  ] as const) {
    for (let number = 1; number < count; number += 1) {
      await sql
        .raw(
          `insert into ${table} (period, ${others}) select period + ${step * number}, ${others}
            from ${table} where period = ${last / (table === 'usage_days' ? day : 3_600_000)}`,
        )
        .execute(queries);
    }
  }
  await sql.raw('alter table requests rename to requests_out_of_reach').execute(queries);
  return { ...portal, last };
}

it('answers what the pages ask in so many lines, however many keys there are, and reads rollups alone', async () => {
  const { server, last } = await busyPortal();
  const [from90, from24] = [new Date(sampleNow).toISOString(), new Date(last).toISOString()];
  // What Overview and Usage ask: portal/src/pages.
  for (const [query, lines] of [
    [`from=${from24}`, 1],
    [`from=${from24}&by=hour`, 24],
    [`from=${from24}&by=hour,model&top=7`, 24 * 8],
    [`from=${from90}&by=day`, days],
    [`from=${from90}&by=day,model&top=7`, days * 8],
    [`from=${from90}&by=day,key&top=7`, days * 8],
    [`from=${from90}&by=model&top=100`, models],
    [`from=${from90}&by=key&top=100`, 101],
  ] as const) {
    const reply = await server.inject({ url: `${usage}?${query}&limit=1000`, headers: withToken });
    const report = reply.json<{ data: Line[]; next_cursor: string | null }>();
    expect([query, report.data.length, report.next_cursor]).toEqual([query, lines, null]);
    expect(reply.body.length, query).toBeLessThan(400_000);
  }
  // What the test is for: a question about single requests fails on this database.
  expect((await call(server, { url: '/api/v1/requests' })).status).toBe(500);
});

it('answers with JSON or with CSV, whichever the caller prefers by `Accept`', async () => {
  const { server } = await samplePortal();
  for (const [accept, type] of [
    [undefined, 'application/json'],
    ['', 'application/json'],
    ['*/*', 'application/json'],
    ['text/html', 'application/json'],
    ['text/html, */*;q=0.8', 'application/json'],
    [',;q="', 'application/json'],
    ['text/csv', 'text/csv'],
    ['TEXT/CSV; charset=UTF-8', 'text/csv'],
    ['text/*', 'text/csv'],
    ['*/*, text/csv', 'text/csv'],
    ['text/csv;q=0, */*', 'application/json'],
    ['application/json;q=0, */*', 'text/csv'],
    // The greater weight, wherever it stands.
    ['text/csv;q=0.5, application/json;q=0.9', 'application/json'],
    ['application/json;q=0.5, text/csv', 'text/csv'],
    // Of equals the first.
    ['application/json, text/csv', 'application/json'],
    ['text/csv, application/json', 'text/csv'],
  ] as const) {
    const headers = { ...withToken, ...(accept !== undefined && { accept }) };
    const reply = await server.inject({ url: usage, headers });
    expect([accept, reply.statusCode, reply.headers['content-type']]).toEqual([accept, 200, `${type}; charset=utf-8`]);
  }
});

it('adds up what is not in the top, so that the sums stay the same', async () => {
  const { server } = await busyPortal();
  const from = new Date(sampleNow).toISOString();
  const { body } = await call(server, { url: `${usage}?from=${from}&by=key&top=2` });
  const { data } = body as { data: Line[] };
  expect(data.map(({ key, requests }) => [key === null, requests])).toEqual([
    [false, days],
    [false, days],
    [true, (keys - 2) * days],
  ]);
  const headers = { ...withToken, accept: 'text/csv' };
  const csv = await server.inject({ url: `${usage}?from=${from}&by=model&top=1`, headers });
  expect(csv.body.trim().split('\n').slice(1)).toEqual([
    expect.stringMatching(/^org\/model-19,1350,/),
    expect.stringMatching(/^,25650,/),
  ]);
  for (const query of ['top=1', 'top=1&by=day', 'top=1&by=model,key', 'top=1&by=key,surface', 'top=501&by=key']) {
    const refused = await call(server, { url: `${usage}?${query}` });
    expect([query, refused.status, refused.body]).toEqual([
      ...[query, 400],
      { error: expect.objectContaining({ field: 'top' }) },
    ]);
  }
});
