import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { runWeir } from '../support/run-weir.ts';
import { sampleDatabase, sampleNow, temporaryFolder } from '../support/sample-database.ts';
import { sampleOutcome } from '../support/sample-outcome.ts';
import { databaseUrl } from '../support/sample-store.ts';
import { installPinned } from './install.ts';

const python = join((await installPinned()).pypi, 'bin', 'python');

/** What DuckDB says of a file: the types of columns and all rows, in text, so that nothing becomes a float on its way here. */
const program = `
import duckdb, json, sys
asked = duckdb.connect()
asked.execute("set TimeZone = 'UTC'")
types = dict(asked.execute("select column_name, column_type from (describe from read_parquet(?))", [sys.argv[1]]).fetchall())
rows = asked.execute("select columns(*)::varchar from read_parquet(?)", [sys.argv[1]])
names = [column[0] for column in rows.description]
print(json.dumps({"types": types, "rows": [dict(zip(names, row)) for row in rows.fetchall()],
  "sum": asked.execute("select sum(cost)::varchar from read_parquet(?)", [sys.argv[1]]).fetchone()[0]}))
`;

test('DuckDB reads what `weir ledger export` writes: exact amounts, moments in UTC, nulls', async () => {
  const { ids, location, settle } = await sampleDatabase('9000000');
  const whole = sampleOutcome({ ...ids, requestId: 'whole', startedAt: sampleNow, cost: 8_999_998_999_999_999_999n });
  const bare = sampleOutcome({
    ...{ ...ids, requestId: 'bare', routeId: undefined, firstTokenMs: undefined, startedAt: sampleNow + 1 },
    ...{ usage: { promptTokens: 1, completionTokens: 0 }, cost: 1n },
  });
  await settle([whole, bare]);
  const file = join(temporaryFolder(), 'requests.parquet');
  const env = { WEIR_DATABASE_URL: databaseUrl(location) };
  const ended = await runWeir(['ledger', 'export', '--format', 'parquet', '--out', file], { env });
  expect(ended).toMatchObject({ code: 0, stderr: '' });

  const { stdout } = await promisify(execFile)(python, ['-c', program, file]);
  const read = JSON.parse(stdout) as {
    readonly types: Readonly<Record<string, string>>;
    readonly rows: readonly object[];
    readonly sum: string;
  };
  expect(read.types).toMatchObject({
    ...{ id: 'VARCHAR', stream: 'BOOLEAN', prompt_tokens: 'BIGINT', cost: 'DECIMAL(38,12)' },
    started_at: 'TIMESTAMP WITH TIME ZONE',
  });
  expect(read.sum).toBe('8999999.000000000000');
  const absent = { route: null, cached_tokens: null, reasoning_tokens: null, web_searches: null, first_token_ms: null };
  expect(read.rows).toMatchObject([
    { id: 'whole', workspace: 'acme', cost: '8999998.999999999999', started_at: '2026-07-01 00:00:00+00' },
    { id: 'bare', ...absent, cost: '0.000000000001', started_at: '2026-07-01 00:00:00.001+00', prompt_tokens: '1' },
  ]);
});
