import { setPriority } from 'node:os';
import { DatabaseSync } from 'node:sqlite';
import { findDamage } from './database-file.ts';

// The process of `startFileCheck`: `node file-check-process.ts FILE` checks the file and prints what it finds, as JSON.
const lowest = 19;

try {
  setPriority(lowest);
} catch {
  // Some sandboxes forbid a change of the priority. The check works without it.
}
const [file = ''] = process.argv.slice(2);
const database = new DatabaseSync(file, { readOnly: true, timeout: 5_000 });
process.stdout.write(JSON.stringify(findDamage(database, 'quick_check')));
database.close();
