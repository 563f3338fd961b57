// A process for the test that kills: opens, writes and closes ledgers without end, new ones and old ones, and prints `FOLDER ROW` once a
// row is durable and the folder's name once its ledger is closed.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { openDatabase } from '../../../src/books/databases/open-database.ts';
import { settleBatch } from '../../../src/books/ledger/settle-batch.ts';
import { createKey } from '../../../src/books/accounts/keys.ts';
import { createWorkspace } from '../../../src/books/accounts/workspaces.ts';
import { sampleOutcome } from '../../support/sample-outcome.ts';

const [root = '', name = ''] = process.argv.slice(2);
const by = { actor: { kind: 'command-line', name: 'tester' }, now: 0 } as const;
const say = (line: string): void => void process.stdout.write(`${line}\n`);

async function live(folder: string, life: string): Promise<void> {
  const file = join(root, folder, 'weir.db');
  const database = await openDatabase({ kind: 'sqlite', file }, { missing: 'create', user: 'operator' });
  const workspace = `of-${life}`;
  const { id: workspaceId } = await createWorkspace(
    database.queries,
    { name: workspace, credit: 0n, maxInFlight: 1 },
    by,
  );
  const { key } = await createKey(database.queries, { workspace, rate: 1, burst: 1 }, by);
  for (let number = 0; number < 3; number += 1) {
    const requestId = `${life}-${number}`;
    await settleBatch(database, [sampleOutcome({ workspaceId, keyId: key.id, requestId })]);
    say(`${folder} ${requestId}`);
  }
  await database.close();
  say(folder);
}

for (let round = 0; ; round += 1) {
  const known = readdirSync(root).toSorted();
  const life = `${name}-${round}`;
  // By turns a new one, the latest, and the one that the process before was killed with, or another process has open.
  const folder = [life, known.at(-1), known.at(0)][round % 3] ?? life;
  await live(folder, life);
}
