import { createHmac, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { errors, exportJWK, type JSONWebKeySet, type JWTPayload, SignJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../../core/clock.ts';
import { compileRule } from '../../core/claim-rule.ts';
import type { Identity } from '../../core/identity.ts';
import { compileIdentity, findIdentity, identityOfClaims } from './find-identity.ts';
import { createIssuer, IssuerAway, maxKeyAgeMs } from './issuer-keys.ts';
import { claimsIn, looksLikeToken } from './token-text.ts';

const now = Date.UTC(2026, 10, 29);
const seconds = now / 1_000;
const issuer = 'https://issuer.test';
const pair = (): { privateKey: KeyObject; publicKey: KeyObject } => generateKeyPairSync('rsa', { modulusLength: 2048 });
const first = pair();
const second = pair();

const setOf = async (keys: Readonly<Record<string, KeyObject>>): Promise<JSONWebKeySet> => ({
  keys: await Promise.all(
    Object.entries(keys).map(async ([kid, key]) => ({ ...(await exportJWK(key)), kid, alg: 'RS256' })),
  ),
});

const claims = (over: Record<string, unknown> = {}): JWTPayload => ({
  ...{ iss: issuer, aud: ['weir'], sub: 'system:serviceaccount:search:indexer' },
  ...{ iat: seconds - 10, exp: seconds + 3_600, 'kubernetes.io': { namespace: 'search' } },
  ...over,
});

const sign = (payload: JWTPayload, { key = first.privateKey, kid = 'a', header = {} } = {}): Promise<string> =>
  new SignJWT(payload).setProtectedHeader({ alg: 'RS256', kid, ...header }).sign(key);

const identity = (over: Partial<Identity> = {}): Identity => ({
  ...{ id: 'identity_1', name: 'search', issuer, audience: 'weir' },
  match: ['claims["kubernetes.io"].namespace == "search"'],
  workspace: { name: 'search-team' },
  each: 'identity',
  tags: { app: 'claims.sub' },
  isBound: false,
  ...{ rate: 10, burst: 20, budget: undefined, models: undefined, status: 'active' },
  ...over,
});

/** Every wait ends at once. */
const hurried: Pick<Clock, 'elapsed' | 'after'> = {
  elapsed: () => 0,
  after: (_, run) => {
    queueMicrotask(run);
    return () => undefined;
  },
};

const find = (token: string, identities = [identity()]) => {
  const published = async () => ({ issuer, keys: await setOf({ a: first.publicKey }) });
  const known = createIssuer(published, hurried);
  return findIdentity(token, {
    identities: identities.map(compileIdentity),
    issuerOf: () => known,
    clock: { now: () => now },
  });
};

describe('a token', () => {
  it('names identity, subject, workspace, tags and end', async () => {
    await expect(find(await sign(claims()))).resolves.toMatchObject({
      identity: { id: 'identity_1' },
      subject: 'system:serviceaccount:search:indexer',
      workspace: 'search-team',
      tags: { app: 'system:serviceaccount:search:indexer' },
      expiresAt: now + 3_600_000,
    });
  });

  it.each([
    ['of another namespace', claims({ 'kubernetes.io': { namespace: 'ads' } }), 'no-identity'],
    ['without the claim', claims({ 'kubernetes.io': undefined }), 'no-identity'],
    ['for another audience', claims({ aud: 'https://kubernetes.default.svc' }), 'other-audience'],
    ['of another issuer', claims({ iss: 'https://evil.test' }), 'unknown-issuer'],
    ['without a subject', claims({ sub: undefined }), 'malformed'],
    ['without an end', claims({ exp: undefined }), 'malformed'],
    ['that has ended five minutes ago', claims({ exp: seconds - 300 }), 'expired'],
    ['that begins in five minutes', claims({ nbf: seconds + 300 }), 'not-yet-valid'],
    ['that was made in five minutes', claims({ iat: seconds + 300 }), 'not-yet-valid'],
  ])('%s lets nobody in', async (_, payload, fault) => {
    await expect(sign(payload).then((token) => find(token))).rejects.toMatchObject({ fault });
  });

  it.each([
    ['ended 30 s ago', { exp: seconds - 30 }],
    ['begins in 30 s', { nbf: seconds + 30, iat: seconds + 30 }],
  ])('is good within the leeway: it %s', async (_, over) => {
    await expect(sign(claims(over)).then((token) => find(token))).resolves.toBeDefined();
  });

  it.each([
    ['another key', { key: second.privateKey }, 'signature'],
    ['a key that is not known', { kid: 'b' }, 'unknown-key'],
    [
      'a key in its header',
      { key: second.privateKey, header: { jwk: second.publicKey.export({ format: 'jwk' }) } },
      'signature',
    ],
    [
      'an address of keys in its header',
      { key: second.privateKey, header: { jku: 'https://evil.test/keys' } },
      'signature',
    ],
    [
      'an address of certificates in its header',
      { key: second.privateKey, header: { x5u: 'https://evil.test' } },
      'signature',
    ],
  ])('that was signed with %s lets nobody in', async (_, how, fault) => {
    await expect(sign(claims(), how).then((token) => find(token))).rejects.toMatchObject({ fault });
  });

  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const unsigned = (header: object, body = part(claims())): string => `${part(header)}.${body}`;

  it.each([
    ['no algorithm', `${unsigned({ alg: 'none' })}.eA`],
    [
      'the public key as a shared secret',
      ((text) =>
        `${text}.${createHmac('sha256', first.publicKey.export({ type: 'spki', format: 'pem' }))
          .update(text)
          .digest('base64url')}`)(unsigned({ alg: 'HS256', kid: 'a' })),
    ],
  ])('with %s lets nobody in', async (_, token) => {
    await expect(find(token)).rejects.toMatchObject({ fault: 'algorithm' });
  });

  it.each([
    ['iss', '{"iss":"https://a.test","iss":"https://issuer.test"}'],
    ['a claim inside another', '{"iss":"https://issuer.test","k":{"n":1,"n":2}}'],
    ['a name with an escape', String.raw`{"iss":"https://a.test","is\u0073":"https://issuer.test"}`],
  ])('that has %s twice has no claims', (_, text) => {
    expect(claimsIn(`${part({ alg: 'RS256' })}.${Buffer.from(text).toString('base64url')}.eA`)).toBeUndefined();
  });

  it('with lists and objects has its claims', () => {
    const payload = { iss: issuer, aud: ['a', 'b'], k: { n: [1, { m: [] }], o: {} } };
    expect(claimsIn(`${part({})}.${part(payload)}.eA`)).toEqual(payload);
  });

  it.each([
    ['a.b.c', true],
    ['a..c', false],
    ['sk-weir-abc', false],
    [`a.${'b'.repeat(10_000)}.c`, false],
    ['a.b.c.d.e', false],
  ])('%.20s… looks like one: %s', (text, is) => {
    expect(looksLikeToken(text)).toBe(is);
  });
});

describe('an identity', () => {
  it('takes the workspace from a claim', async () => {
    const wanted = identity({ workspace: { claim: 'claims["kubernetes.io"].namespace' } });
    await expect(find(await sign(claims()), [wanted])).resolves.toMatchObject({ workspace: 'search' });
  });

  it.each(['claims.missing', 'claims.iat', '""'])(
    'refuses a token without a text for its workspace: %s',
    async (claim) => {
      const wanted = identity({ workspace: { claim } });
      await expect(find(await sign(claims()), [wanted])).rejects.toMatchObject({ fault: 'no-workspace' });
    },
  );

  const ofNamespace = [identity({ workspace: { claim: 'claims.team', prefix: 'ml_' } })];

  it('of an object takes the workspace from its own namespace', async () => {
    await expect(find(await sign(claims({ team: 'search' })), ofNamespace)).resolves.toMatchObject({
      workspace: 'ml_search',
    });
  });

  it.each(['ads_team', '../x'])('of an object has no workspace %s', async (team) => {
    await expect(find(await sign(claims({ team })), ofNamespace)).rejects.toMatchObject({ fault: 'no-workspace' });
  });

  it('of the cluster takes tokens with the name of its API server', async () => {
    await expect(find(await sign(claims()), [identity({ issuer: 'cluster' })])).resolves.toBeDefined();
    await expect(
      find(await sign(claims({ iss: 'https://a.test' })), [identity({ issuer: 'cluster' })]),
    ).rejects.toMatchObject({
      fault: 'unknown-issuer',
    });
  });

  it('comes first if its name does', async () => {
    const token = await sign(claims());
    await expect(find(token, [identity({ id: 'one' }), identity({ id: 'two' })])).resolves.toMatchObject({
      identity: { id: 'one' },
    });
  });
});

describe('claims that another gateway has verified', () => {
  const options = { identities: [compileIdentity(identity())], issuerOf: () => never(), clock: { now: () => now } };
  const never = (): never => {
    throw new Error('no issuer is asked');
  };
  const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

  it('name an identity without a signature', async () => {
    await expect(identityOfClaims(encoded(claims()), options)).resolves.toMatchObject({ workspace: 'search-team' });
  });

  it('are good for a minute if they have no end', async () => {
    await expect(identityOfClaims(encoded(claims({ exp: undefined })), options)).resolves.toMatchObject({
      expiresAt: now + 60_000,
    });
  });

  it.each([
    ['-', 'malformed'],
    [encoded('text'), 'malformed'],
    [encoded(claims({ exp: seconds - 300 })), 'expired'],
    [encoded(claims({ aud: 'another' })), 'other-audience'],
    [encoded(claims({ iss: 'https://evil.test' })), 'unknown-issuer'],
  ])('%.10s… let nobody in: %s', async (text, fault) => {
    await expect(identityOfClaims(text, options)).rejects.toMatchObject({ fault });
  });
});

describe('a rule', () => {
  it.each([
    ['claims.groups.exists(g, g == "a")', { groups: ['b', 'a'] }, true],
    ['claims.sub.matches("^(a+)+$")', { sub: `${'a'.repeat(5_000)}!` }, false],
    ['"x" in claims.groups || claims.email.endsWith("@example.com")', { email: 'a@example.com' }, true],
    ['claims.n > 3', { n: 4 }, true],
    ['claims.missing == 1', {}, undefined],
  ])('%s', (text, of, value) => {
    expect(compileRule(text)(of)).toBe(value);
  });

  it.each([
    ['claims.', 'expecting'],
    ['claim.sub == "a"', 'expected "claims", and found "claim"'],
    ['claims.a.all(x, claims.b.exists(y, y == x))', 'expected at most 1 of all'],
    ['read(claims.sub)', 'unbound function: read'],
    [`claims.sub == "${'a'.repeat(1_000)}"`, 'expected at most 1000 characters'],
  ])('%.40s is refused', (text, message) => {
    expect(() => compileRule(text)).toThrow(message);
  });
});

describe('keys of an issuer', () => {
  function openIssuer() {
    const clock = createFakeClock();
    let keys: Readonly<Record<string, KeyObject>> | 'away' = { a: first.publicKey };
    let asked = 0;
    const opened = createIssuer(async () => {
      asked += 1;
      if (keys === 'away') throw new Error('away');
      return { issuer, keys: await setOf(keys) };
    }, clock);
    const keyOf = (kid: string) => Promise.resolve(opened.keyOf({ alg: 'RS256', kid }, { payload: '', signature: '' }));
    return {
      keyOf,
      asked: () => asked,
      advance: clock.advance,
      set: (now: typeof keys) => (keys = now),
    };
  }

  it('are read once for all who wait', async () => {
    const { asked, keyOf } = openIssuer();
    await Promise.all([keyOf('a'), keyOf('a')]);
    expect(asked()).toBe(1);
  });

  it('are read again for an unknown key, once a second, and all wait for it', async () => {
    const { advance, asked, keyOf, set } = openIssuer();
    await keyOf('a');
    set({ a: first.publicKey, b: second.publicKey });
    const [next, ...strangers] = ['b', ...Array.from({ length: 100 }, (_, index) => `c${index}`)].map(keyOf);
    await nextTurn();
    expect(asked()).toBe(1);
    advance(1_000);
    await expect(next).resolves.toBeDefined();
    const found = await Promise.allSettled(strangers);
    expect([asked(), found.every(({ status }) => status === 'rejected')]).toEqual([2, true]);
  });

  it('are read once more for a token that is newer than the answer on its way', async () => {
    const clock = createFakeClock();
    const answers: (() => void)[] = [];
    let keys: Readonly<Record<string, KeyObject>> = { a: first.publicKey };
    const { keyOf } = createIssuer(async () => {
      const published = await setOf(keys);
      await new Promise<void>((resolve) => answers.push(resolve));
      return { issuer, keys: published };
    }, clock);
    const ask = (kid: string) => Promise.resolve(keyOf({ alg: 'RS256', kid }, { payload: '', signature: '' }));
    const answer = async (): Promise<void> => {
      await nextTurn();
      answers.shift()?.();
      await nextTurn();
    };
    const known = ask('a');
    await answer();
    await known;
    clock.advance(1_000);
    const stranger = ask('c').catch((error: unknown) => error);
    await nextTurn();
    clock.advance(10);
    keys = { a: first.publicKey, b: second.publicKey };
    const renewed = ask('b');
    await answer();
    expect(await stranger).toBeInstanceOf(errors.JWKSNoMatchingKey);
    clock.advance(990);
    await answer();
    await expect(renewed).resolves.toBeDefined();
  });

  it('stay good while the issuer is away, and end with the next answer', async () => {
    const { advance, keyOf, set } = openIssuer();
    /** The answer for a key that is not known, after the issuer was asked again. */
    const afterAsking = async (kid: string): Promise<unknown> => {
      const found = keyOf(kid).catch((error: unknown) => error);
      await nextTurn();
      advance(1_000);
      return found;
    };
    await keyOf('a');
    set('away');
    advance(maxKeyAgeMs);
    await keyOf('a');
    expect(await afterAsking('b')).toBeInstanceOf(errors.JWKSNoMatchingKey);
    set({ b: second.publicKey });
    expect(await afterAsking('b')).not.toBeInstanceOf(Error);
    expect(await afterAsking('a')).toBeInstanceOf(errors.JWKSNoMatchingKey);
  });

  it('of an issuer that never answered let nobody in', async () => {
    const { keyOf, set } = openIssuer();
    set('away');
    await expect(keyOf('a')).rejects.toBeInstanceOf(IssuerAway);
  });
});
