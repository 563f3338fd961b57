import { closeSync, mkdirSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type ProgrammableEngine, startProgrammableEngine } from '../programmable-engine/engine.ts';
import { startWeir, type Weir } from '../support/weir.ts';

let engine: ProgrammableEngine;
let weir: Weir;

beforeEach(async () => {
  engine = await startProgrammableEngine();
  weir = await startWeir({ engines: [engine] });
});
afterEach(async () => {
  await weir.close();
  await engine.close();
});

const ask = { model: 'test/model', messages: [{ role: 'user', content: 'hello' }] };

it('a service reports a damaged file and of foreign files in its journal, and serves', async () => {
  expect(await weir.metric('weir_ledger_damaged')).toBe(0);

  // A page that nobody needs but the check: whether the others are needed is for the unit tests.
  const file = join(weir.data, 'weir.db');
  const database = new DatabaseSync(file, { timeout: 5_000 });
  database.exec("create table idle (text); insert into idle values ('x'); pragma wal_checkpoint(truncate)");
  const page = Number(database.prepare("select rootpage from sqlite_master where name = 'idle'").get()?.['rootpage']);
  database.close();
  const handle = openSync(file, 'r+');
  writeSync(handle, Buffer.alloc(8, 0xff), 0, 8, (page - 1) * 4_096);
  closeSync(handle);
  writeFileSync(join(weir.data, 'journal', '.DS_Store'), 'x');
  mkdirSync(join(weir.data, 'journal', 'old'));
  process.kill(weir.pid('service'), 'SIGKILL');

  await expect.poll(() => weir.metric('weir_ledger_damaged').catch(() => 0)).toBe(1);
  await expect.poll(() => weir.log()).toMatch(/"level":50[^\n]*"findings":\["[^\n]*the database file is damaged/);
  for (const name of ['.DS_Store', 'old']) {
    await expect.poll(() => weir.log()).toMatch(new RegExp(`${name}"[^\n]*it is ignored`));
  }
  await expect.poll(async () => (await weir.chat(ask)).status).toBe(200);
});
