// @suite waits long
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startProgrammableEngine } from '../programmable-engine/engine.ts';
import { dearAsk, dearBursts, dearLesson, dearManifest } from './support/dear-bursts.ts';
import { selfSigned } from '../support/self-signed.ts';
import { startTokenIssuer } from '../support/token-issuer.ts';
import { backendManifest, startWeir } from '../support/weir.ts';
import { forFile } from '../support/for-file.ts';

// One service on SQLite, with its limits in memory.

const authority = join(tmpdir(), `weir-reservations-${process.pid}.pem`);
writeFileSync(authority, selfSigned.certificate);
const issuer = await forFile(startTokenIssuer());
const engine = await forFile(startProgrammableEngine({ name: 'alpha', behaviour: { cachedTokens: 0 } }));
const models = ['test/dear', 'test/terse'].map((id) => dearManifest(id, 'backend-of-test'));
const weir = await forFile(
  startWeir({
    engines: [engine],
    env: { WEIR_IDENTITIES: 'on', NODE_EXTRA_CA_CERTS: authority },
    manifests: { 'catalog.yaml': backendManifest('backend-of-test', engine) + models.join('') },
  }),
);
const bursts = dearBursts({
  ask: async (key, body) => {
    const answer = await weir.chat(body, { authorization: `Bearer ${key}` });
    return { status: answer.status, text: await answer.text() };
  },
  flags: ['--data', weir.data],
  issuer,
});

test('of 64 dear requests at once a credit for three is overspent by one answer at most, before and after their length is known', async () => {
  const dear = dearAsk('test/dear');
  const price = await bursts.priceOf(dear);
  expect(price).toBeGreaterThan(2n * 10n ** 12n);
  for (const isKnown of [false, false, true, true]) {
    if (isKnown) await bursts.teach(18, dearLesson('test/dear'));
    const { passed, refused, balance } = await bursts.burst(3n * price, dear);
    // Longer answers are expected of a model that nobody knows; once they are known, three are dispatched.
    expect(passed).toBeLessThanOrEqual(3);
    expect(passed).toBeGreaterThanOrEqual(isKnown ? 3 : 1);
    expect(balance).toBe((3n - BigInt(passed)) * price);
    expect(balance).toBeGreaterThanOrEqual(-price);
    expect(refused).toBe(64 - passed);
  }
});

test.each(['identity', 'subject'] as const)(
  'of 64 dear requests at once with a token a budget for three is overspent as that of a key, one for each %s',
  async (each) => {
    const dear = dearAsk('test/dear');
    const price = await bursts.priceOf(dear);
    await bursts.teach(18, dearLesson('test/dear'));
    const { passed, refused, balance } = await bursts.burstOfTokens(each, 3n * price, dear);
    expect([passed, refused, balance]).toEqual([3, 61, 0n]);
  },
);

test('a cap is believed of a model nobody knows', async () => {
  const dear = { ...dearAsk('test/terse'), max_tokens: 100 };
  const price = await bursts.priceOf(dear);
  const { passed, balance } = await bursts.burst(3n * price, dear);
  expect([passed, balance]).toEqual([3, 0n]);
});

test('a workspace that has more than all its reservations is refused nothing', async () => {
  const dear = dearAsk('test/dear');
  const price = await bursts.priceOf(dear);
  const { passed, balance } = await bursts.burst(80n * price, dear);
  expect([passed, balance]).toEqual([64, 16n * price]);
});

test('without the expected output many pass: long answers of a model that has only answered in a word so far', async () => {
  const word = { role: 'user', content: 'Yes? [[demo {"words": 1}]]' };
  await bursts.teach(80, { model: 'test/terse', reasoning_effort: 'none', messages: [word] });
  const long = dearAsk('test/terse', 3_000);
  const price = await bursts.priceOf(long);
  const { passed, balance } = await bursts.burst(3n * price, long);
  expect(passed).toBeGreaterThan(10);
  expect(balance).toBe((3n - BigInt(passed)) * price);
});
