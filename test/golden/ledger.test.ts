/**
 * The durable forms of a settled request: records of the journal, rows of the table `requests`, and the public form of `weir usage
 * --requests`. A journal may be replayed, and a row read, years after it was written: a change of `journal.json` or `rows.json` needs
 * a migration, and what an earlier version wrote stays readable.
 */
import { readFileSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import type { Outcome } from '../../src/core/account.ts';
import { plainValue, requestFields } from '../../src/books/core/request-fields.ts';
import { journalRecord, readRecords } from '../../src/books/databases/journal/journal.ts';
import { listRequests } from '../../src/books/ledger/list-requests.ts';
import { settleBatch } from '../../src/books/ledger/settle-batch.ts';
import { sampleDatabase } from '../support/sample-database.ts';
import { sampleOutcome } from '../support/sample-outcome.ts';
import { openGoldenFolder } from './golden-files.ts';

const folder = openGoldenFolder('ledger');
const ids = { workspaceId: 'ws_00000000000000000001', keyId: 'key_00000000000000000001' };

/** Each field at its least, its usual and its largest value, and absent where it may be. */
const outcomes: readonly Outcome[] = [
  sampleOutcome({ ...ids, requestId: 'chatcmpl-AZ3xYkBvSi2aTn0qVYl4zQ', routes: 2, correlationId: '9b3c1edd-a768-4215-8dd7-71a66fb88e0a' }),
  sampleOutcome({
    ...ids,
    requestId: 'msg_AZ3xYkBvSi2aTn0qVYl4zg',
    surface: 'messages',
    stream: false,
    kind: 'service-lost',
    countedBy: 'estimate',
    usage: { promptTokens: 2 ** 31 - 1, completionTokens: 0, cachedTokens: 0, reasoningTokens: 0, webSearches: 3 },
    cost: 8_000_000_000_000_000_000n,
    attempts: 2 ** 15 - 1,
    routes: 15,
    firstTokenMs: 0,
    durationMs: 2 ** 31 - 1,
    tags: 'app=crawler,team=search',
  }),
  sampleOutcome({
    ...ids,
    requestId: 'of another form',
    correlationId: '',
    failure: 'attempts_failed repeated-failure',
    attemptLog: '001 vllm-a 10.0.3.7:8000 2 - 15 status/500',
    routeId: undefined,
    kind: 'cancelled',
    countedBy: 'tokenizer',
    usage: { promptTokens: 0, completionTokens: 0 },
    cost: 0n,
    attempts: 0,
    firstTokenMs: undefined,
    durationMs: 0,
  }),
];

const json = (value: unknown): string => `${JSON.stringify(value, undefined, 2)}\n`;

it('records of the journal have their form', async () => {
  const records = outcomes.map((outcome) => JSON.parse(journalRecord(outcome).subarray(8).toString()));
  await expect(json(records)).toMatchFileSnapshot(folder.path('journal.json'));
});

it('what a journal holds is settled, stored and shown in its form', async () => {
  const { queries, database } = await sampleDatabase();
  await sql`insert into workspaces (id, name, status, balance, max_in_flight, created_at) values (${ids.workspaceId}, 'golden', 'active', 0, 9, 0)`.execute(queries);
  await sql`insert into keys (id, hash, workspace_id, status, rate, burst, created_at)
    values (${ids.keyId}, 'hash', ${ids.workspaceId}, 'active', 1, 1, 0)`.execute(queries);
  const kept = JSON.parse(readFileSync(folder.path('journal.json'), 'utf8')) as readonly unknown[];
  const journal = Buffer.concat(kept.map((record) => framed(JSON.stringify(record))));
  const { rows: settled, endBytes } = readRecords(journal);
  expect(endBytes).toBe(journal.length);
  await settleBatch(database, settled);

  const { rows } = await sql<Record<string, unknown>>`select *, hex(id) as id, hex(correlation) as correlation
    from requests order by requests.id`.execute(queries);
  const stored = rows.map((row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, String(value)])));
  await expect(json(stored)).toMatchFileSnapshot(folder.path('rows.json'));

  const listed = await listRequests(queries, {}, 10);
  const shown = listed.map((outcome) =>
    Object.fromEntries(requestFields.map((field) => [field.name, plainValue(field, { outcome, workspace: 'golden' })])),
  );
  await expect(json(shown)).toMatchFileSnapshot(folder.path('shown.json'));
});

it('a record of a version without the newest fields is read', () => {
  const { failure, attempt_log, ...older } = JSON.parse(journalRecord(sampleOutcome({ ...ids, failure: 'internal' })).subarray(8).toString());
  expect([failure, attempt_log]).toEqual(['internal', null]);
  expect(readRecords(framed(JSON.stringify(older))).rows).toEqual([expect.objectContaining({ requestId: 'req-1', failure: undefined })]);
});

/** A record as the journal frames it: length and CRC-32 of its text, 32 bits each, little-endian, then the text. */
function framed(text: string): Buffer {
  const bytes = Buffer.from(text);
  const head = Buffer.alloc(8);
  head.writeUInt32LE(bytes.length, 0);
  head.writeUInt32LE(crc32(bytes), 4);
  return Buffer.concat([head, bytes]);
}
