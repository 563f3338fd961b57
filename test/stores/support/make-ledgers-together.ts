// A process for the test that makes ledgers from several processes at once: opens a new ledger at the beginning of each of so
// many moments, which the clock gives all of them alike, and prints what went wrong.
import { join } from 'node:path';
import { openDatabase } from '../../../src/books/databases/open-database.ts';

const [root = '', rounds = ''] = process.argv.slice(2);
/** Milliseconds from one moment to the next. */
const momentMs = 60;

for (let round = 0; round < Number(rounds); round += 1) {
  const moment = Math.ceil(Date.now() / momentMs) * momentMs;
  // A timer would wake each process at a time of its own.
  while (Date.now() < moment);
  const file = join(root, String(moment), 'weir.db');
  const { close } = await openDatabase({ kind: 'sqlite', file }, { missing: 'create', user: 'operator' });
  await close();
}
