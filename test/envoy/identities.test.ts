/** Callers without keys through the whole gateway: tokens of an issuer let in whom an Identity names, and nobody else. */
import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startProgrammableEngine } from '../programmable-engine/engine.ts';
import { forFile } from '../support/for-file.ts';
import { runWeir } from '../support/run-weir.ts';
import { selfSigned } from '../support/self-signed.ts';
import { startTokenIssuer } from '../support/token-issuer.ts';
import { untilHolds } from '../support/until-holds.ts';
import { backendManifest, canary, modelManifest, startWeir, teamManifest } from '../support/weir.ts';

const authority = join(tmpdir(), `weir-identities-${process.pid}.pem`);
writeFileSync(authority, selfSigned.certificate);

const engine = await forFile(startProgrammableEngine({ behaviour: { reasoning: 'never', words: 3 } }));
const issuer = await forFile(startTokenIssuer());
const catalog = backendManifest('engine', engine) + modelManifest('test/model', ['engine']);

const identityOf = (spec: string): string => `apiVersion: weir.dev/v1alpha1
kind: Identity
metadata: {name: search-workloads}
spec:
  issuer: ${issuer.issuer}
  audience: weir
  match: ['claims.sub.startsWith("search/")']
  workspace: search-team
  each: Subject
  tags: {app: claims.app}
  ${spec}
`;
const weir = await forFile(
  startWeir({
    engines: [engine],
    manifests: { 'catalog.yaml': catalog, 'team.yaml': teamManifest, 'identity.yaml': identityOf('status: Active') },
    env: {
      ...{ WEIR_IDENTITIES: 'on', NODE_EXTRA_CA_CERTS: authority },
      ...{ WEIR_TRUSTED_HOPS: '1', WEIR_TRUSTED_IDENTITY_HEADER: 'x-jwt-payload' },
    },
  }),
);
const declare = (spec: string): void => writeFileSync(join(weir.manifests, 'identity.yaml'), identityOf(spec));

const body = { model: 'test/model', messages: [{ role: 'user', content: canary }], max_tokens: 5 };
const until = (token: string, status: number): Promise<void> =>
  untilHolds(async () => expect(await statusWith(token)).toBe(status));
const tokenOf = (sub = 'search/indexer', claims = {}): Promise<string> =>
  issuer.token({ sub, app: 'indexer', ...claims });

let addresses = 0;
/** Refused tokens would block an address: each request comes from another one. */
const elsewhere = () => ({ 'x-forwarded-for': `10.0.${(addresses += 1) >> 8}.${addresses & 255}` });

async function statusWith(token: string, headers: Readonly<Record<string, string>> = {}): Promise<number> {
  const answer = await weir.chat(body, { authorization: `Bearer ${token}`, ...elsewhere(), ...headers });
  await answer.text();
  return answer.status;
}

async function run<Result>(...args: readonly string[]): Promise<Result> {
  const { code, stdout, stderr } = await runWeir([...args, '--json', '--data', weir.data]);
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout) as Result;
}

await until(await tokenOf(), 200);

test('a token calls a model on both surfaces, and its usage is that of its subject', async () => {
  const token = await tokenOf('search/reader');
  expect(await statusWith(token)).toBe(200);
  const answer = await weir.messages(body, { 'x-api-key': token, authorization: '' });
  expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('"usage"')]);
  const lines = await run<readonly Readonly<Record<string, unknown>>[]>('usage', '--by', 'key');
  expect(lines).toContainEqual(expect.objectContaining({ key_name: 'search-workloads: search/reader', requests: 2 }));
});

test('the tags of an identity win over those of the header', async () => {
  expect(await statusWith(await tokenOf('search/tagged'), { 'x-weir-tags': 'app=forged,team=x' })).toBe(200);
  const rows = await run<readonly { readonly tags: string }[]>('usage', '--requests');
  expect(rows.map(({ tags }) => tags)).toContain('app=indexer,team=x');
});

test.each([
  ['of another subject', { sub: 'ads/indexer' }],
  ['for another audience', { aud: 'another' }],
  ['that has ended', { exp: Math.floor(Date.now() / 1_000) - 300 }],
  ['of another issuer', { iss: 'https://evil.test' }],
])('a token %s gets the 401 of a wrong key', async (_, claims) => {
  const answer = await weir.chat(body, {
    authorization: `Bearer ${await tokenOf('search/x', claims)}`,
    ...elsewhere(),
  });
  const wrongKey = await weir.chat(body, { authorization: 'Bearer sk-weir-wrong', ...elsewhere() });
  expect([answer.status, await answer.text()]).toEqual([401, await wrongKey.text()]);
});

test('a rotation of the issuer’s keys under load refuses no request', async () => {
  const statuses: number[] = [];
  let isOver = false;
  const lane = async (): Promise<void> => {
    while (!isOver) statuses.push(await statusWith(await tokenOf()));
  };
  const lanes = [lane(), lane()];
  for (let rotation = 0; rotation < 3; rotation += 1) {
    issuer.rotate({ keeps: true });
    const { length } = statuses;
    await expect.poll(() => statuses.length).toBeGreaterThan(length + 30);
  }
  isOver = true;
  await Promise.all(lanes);
  expect(statuses.filter((status) => status !== 200)).toEqual([]);
});

test.each(['dead', 'silent', 'redirects', 'many', 'nonsense'] as const)(
  'while the issuer is %s, known keys are good, and tokens with others let nobody in',
  async (state) => {
    onTestFinished(() => issuer.become('well'));
    const known = await tokenOf('search/known');
    expect(await statusWith(known)).toBe(200);
    issuer.become(state);
    const before = issuer.asked();
    expect(await statusWith(await tokenOf(`search/${state}`))).toBe(200);
    const strangers = await Promise.all(
      Array.from({ length: 20 }, async (_, index) =>
        statusWith(await issuer.token({ sub: 'search/x', app: 'x' }, { kid: `${index}` })),
      ),
    );
    expect(new Set(strangers)).toEqual(new Set([401]));
    expect(issuer.asked() - before).toBeLessThanOrEqual(2);
    expect(await statusWith(known)).toBe(200);
  },
  30_000,
);

const claimsOf = (sub: string): string =>
  Buffer.from(JSON.stringify({ iss: issuer.issuer, aud: 'weir', sub, app: 'gateway' })).toString('base64url');

test.each([
  ['that the trusted proxy has verified', 'x-jwt-payload', 'search/behind', 200],
  ['of somebody whom no identity names', 'x-jwt-payload', 'ads/behind', 401],
  ['in the header inside the gateway, which callers cannot send,', 'x-weir-verified-claims', 'search/forged', 401],
])('claims %s', async (_, header, sub, status) => {
  expect(await statusWith('', { authorization: '', [header]: claimsOf(sub) })).toBe(status);
});

test('a suspended identity gets 403, and one that is gone 401', async () => {
  const token = await tokenOf('search/leaving');
  expect(await statusWith(token)).toBe(200);
  declare('status: Suspended');
  await until(token, 403);
  declare('status: Active');
  await until(token, 200);
  rmSync(join(weir.manifests, 'identity.yaml'));
  await until(token, 401);
});
