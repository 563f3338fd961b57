import { closeSync, openSync, writeSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

/** Destroys a page of a database file that nobody needs but the check: whether the others are needed is for the unit tests. */
export function damageLedger(file: string): void {
  const database = new DatabaseSync(file, { timeout: 5_000 });
  database.exec("create table idle (text); insert into idle values ('x'); pragma wal_checkpoint(truncate)");
  const page = Number(database.prepare("select rootpage from sqlite_master where name = 'idle'").get()?.['rootpage']);
  database.close();
  const handle = openSync(file, 'r+');
  writeSync(handle, Buffer.alloc(8, 0xff), 0, 8, (page - 1) * 4_096);
  closeSync(handle);
}
