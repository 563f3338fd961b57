import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type ProgrammableEngine, startProgrammableEngine } from '../programmable-engine/engine.ts';
import { startWeir, type Weir } from '../support/weir.ts';
import { damageLedger } from './support/damage-ledger.ts';

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

  damageLedger(join(weir.data, 'weir.db'));
  writeFileSync(join(weir.data, 'journal', '.DS_Store'), 'x');
  mkdirSync(join(weir.data, 'journal', 'old'));
  process.kill(weir.pid('service'), 'SIGKILL');

  await expect.poll(() => weir.metric('weir_ledger_damaged').catch(() => 0)).toBe(1);
  await expect.poll(() => weir.log()).toMatch(/"level":50[^\n]*"findings":\["[^\n]*the database file is damaged/);
  for (const name of ['.DS_Store', 'old']) {
    await expect.poll(() => weir.log()).toMatch(new RegExp(`${name}"[^\n]*ignoring a file`));
  }
  await expect.poll(async () => (await weir.chat(ask)).status).toBe(200);
});
