/** All programs of a gateway may have few files open, and callers and strangers want more than those. */
import { expect, test } from 'vitest';
import { startProgrammableEngine } from '../programmable-engine/engine.ts';
import { holdConnections } from '../support/held-connections.ts';
import { runWeir } from '../support/run-weir.ts';
import { startWeir } from '../support/weir.ts';
import { http2Caller } from './support/caller.ts';
import { forFile } from '../support/for-file.ts';

const maxOpenFiles = 400;
const streams = 420;
const strangers = 1_000;

const engine = await forFile(startProgrammableEngine({ behaviour: { reasoning: 'never' } }));
const weir = await forFile(startWeir({ engines: [engine], maxOpenFiles, unlimited: true }));
const caller = await forFile(http2Caller(weir));
const service = weir.pid('service');

const ask = (directives: string) => ({
  ...{ model: 'test/model', stream: true },
  messages: [{ role: 'user', content: `Count. ${directives}` }],
});

/** The gateway serves, its service has not been started again, and the books are sound. */
async function expectSound(): Promise<void> {
  expect((await caller.ask(ask('[[words=3]]'))).status).toBe(200);
  expect(weir.pid('service')).toBe(service);
  await weir.settled();
  const { code, stdout, stderr } = await runWeir(['ledger', 'verify', '--data', weir.data]);
  expect([code, stderr], stdout).toEqual([0, '']);
}

test(`${streams} streams: some are refused before they start, and all others end whole`, async () => {
  const slow = ask('[[words=20]][[firstTokenDelayMs=5000]][[tokenDelayMs=50]]');
  const answers = await Promise.all(Array.from({ length: streams }, () => caller.open(slow).answer));
  const accepted = answers.filter(({ status }) => status === 200);
  const refused = answers.filter(({ status }) => status !== 200);
  expect(accepted.length).toBeGreaterThan(0);
  expect(refused.length).toBeGreaterThan(0);
  for (const answer of accepted) {
    expect([await answer.ended, answer.text()]).toEqual(['clean', expect.stringContaining('[DONE]')]);
  }
  for (const answer of refused) {
    expect([await answer.ended, answer.status]).toEqual(['clean', 503]);
    expect(JSON.parse(answer.text())).toMatchObject({ error: { type: 'service_error' } });
    expect(answer.text()).toContain('safe to retry');
  }
  await expectSound();
});

test(`${strangers} silent connections to the ops port: probes and callers are served`, async () => {
  // Each address may have only a part of the connections, so the strangers come from many.
  const held = await holdConnections(Number(new URL(weir.opsUrl).port), strangers, (index) => `127.0.1.${index % 250}`);
  try {
    await held.closed(strangers - maxOpenFiles / 4);
    expect(await weir.metric('weir_open_files_ratio')).toBeLessThan(0.8);
    await expectSound();
  } finally {
    held.release();
  }
});
