// A process for the test that kills: takes steps of upkeep and settles a request after each, without end, and prints the request's id
// once it is durable, and `dropped` once nothing is left to drop.
import { openDatabase } from '../../../src/books/databases/open-database.ts';
import { settleBatch } from '../../../src/books/ledger/settle-batch.ts';
import { databaseLocation } from '../../../src/books/databases/database-location.ts';
import { sampleOutcome } from '../../support/sample-outcome.ts';

const [url = '', workspaceId = '', keyId = '', name = '', now = ''] = process.argv.slice(2);
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const database = await openDatabase(databaseLocation({ url }), { missing: 'refuse', user: 'operator' });
const upkeep = database.beginUpkeep({ retentionDays: 1, now: () => Number(now), report: say });
for (let number = 0; ; number += 1) {
  const { value } = await upkeep.steps.next();
  if (value === 'done') say('dropped');
  const requestId = `${name}-${number}`;
  const startedAt = Date.UTC(2010, 0, 1) + number * 60_000;
  await settleBatch(database, [sampleOutcome({ workspaceId, keyId, requestId, startedAt, cost: 3n })]);
  say(requestId);
}
