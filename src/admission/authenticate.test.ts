import { describe, expect, it } from 'vitest';
import { credentialOf } from '../../test/support/credential-of.ts';
import type { Credential } from '../core/account.ts';
import { authenticate, bearerText } from './authenticate.ts';

const headOf = (authorization?: string, apiKey?: string) => ({
  ...{ method: 'POST', path: '/' },
  header: (name: string) => ({ authorization, 'x-api-key': apiKey })[name],
});

type Headers = string | undefined | { readonly authorization?: string; readonly apiKey?: string };

function attempt(headers: Headers, credential: Credential | undefined, lookedUp: string[] = []) {
  const { authorization, apiKey } = typeof headers === 'object' ? headers : { authorization: headers };
  const keyHeaders =
    typeof headers === 'object' ? (['x-api-key', 'authorization'] as const) : (['authorization'] as const);
  return authenticate(headOf(authorization, apiKey), keyHeaders, {
    store: {
      findCredential: (hash) => {
        lookedUp.push(hash);
        return Promise.resolve(credential);
      },
      settle: () => Promise.resolve(),
      canSettle: () => true,
    },
    looksLikeKey: (text) => text.startsWith('sk-weir-'),
    hashKey: (text) => `hash of ${text}`,
    abuseContact: 'abuse@example.com',
  });
}

describe('a bearer credential', () => {
  it.each([
    ['Bearer abc', 'abc'],
    ['bearer abc', 'abc'],
    ['BEARER  abc ', 'abc'],
    ['Bearer', undefined],
    ['Bearer ', undefined],
    ['Bearer a b', undefined],
    ['Basic abc', undefined],
    ['abc', undefined],
    [undefined, undefined],
  ])('in %j is %j', (header, text) => {
    expect(bearerText(headOf(header))).toBe(text);
  });
});

describe('authentication (docs/reference/api.md §5)', () => {
  it('finds the credential of a good key by its hash', async () => {
    const lookedUp: string[] = [];
    const { credential, latest } = await attempt('Bearer sk-weir-a', credentialOf(), lookedUp);
    expect([credential, lookedUp]).toEqual([credentialOf(), ['hash of sk-weir-a']]);
    expect(await latest()).toEqual(credentialOf());
    expect(lookedUp).toEqual(['hash of sk-weir-a', 'hash of sk-weir-a']);
  });

  it('knows nothing later when the look-up fails by then', async () => {
    const answers = [Promise.resolve(credentialOf()), Promise.reject(new Error('away'))];
    const { latest } = await authenticate(headOf('Bearer sk-weir-a'), ['authorization'], {
      ...{ looksLikeKey: () => true, hashKey: String, abuseContact: '' },
      store: { findCredential: () => answers.shift(), settle: () => Promise.resolve(), canSettle: () => true },
    });
    expect(await latest()).toBeUndefined();
  });

  it.each(['Bearer mistyped', undefined, 'Basic sk-weir-a'])('refuses %j without a look-up', async (header) => {
    const lookedUp: string[] = [];
    await expect(attempt(header, credentialOf(), lookedUp)).rejects.toMatchObject({ code: 'unauthenticated' });
    expect(lookedUp).toEqual([]);
  });

  it.each([
    [{ apiKey: 'sk-weir-a' }, ['hash of sk-weir-a']],
    [{ apiKey: ' sk-weir-a ' }, ['hash of sk-weir-a']],
    [{ authorization: 'Bearer sk-weir-a' }, ['hash of sk-weir-a']],
    [{ apiKey: 'sk-weir-a', authorization: 'Bearer sk-weir-b' }, ['hash of sk-weir-a']],
    [{ apiKey: 'of another service', authorization: 'Bearer sk-weir-b' }, ['hash of sk-weir-b']],
    [{ apiKey: 'sk-weir-a', authorization: 'Bearer of-another-service' }, ['hash of sk-weir-a']],
  ])('finds the key where both headers may carry it: %j', async (headers, expected) => {
    const lookedUp: string[] = [];
    expect((await attempt(headers, credentialOf(), lookedUp)).credential).toEqual(credentialOf());
    expect(lookedUp).toEqual(expected);
  });

  it('does not look for it where its callers do not put it, and says where they do', async () => {
    const head = headOf(undefined, 'sk-weir-a');
    const options = {
      ...{ looksLikeKey: () => true, hashKey: String, abuseContact: '' },
      store: { findCredential: () => credentialOf(), settle: () => Promise.resolve(), canSettle: () => true },
    };
    await expect(authenticate(head, ['authorization'], options)).rejects.toThrow(
      /^Missing or invalid API key: send "Authorization: Bearer <API_KEY>"\.$/,
    );
    await expect(authenticate(headOf(), ['x-api-key', 'authorization'], options)).rejects.toThrow(
      '"x-api-key: <API_KEY>" or "Authorization: Bearer <API_KEY>"',
    );
  });

  const suspended = { status: 'suspended' } as const;
  it.each([
    ['an unknown key', undefined, 'unauthenticated'],
    ['a revoked key', credentialOf({ key: { status: 'revoked' } }), 'unauthenticated'],
    [
      'a revoked key of a suspended workspace',
      credentialOf({ key: { status: 'revoked' }, workspace: suspended }),
      'unauthenticated',
    ],
    ['a suspended key', credentialOf({ key: suspended }), 'suspended'],
    ['a suspended workspace', credentialOf({ workspace: suspended }), 'suspended'],
    ['a suspended workspace without money', credentialOf({ workspace: { ...suspended, balance: 0n } }), 'suspended'],
  ])('refuses %s', async (_, credential, code) => {
    await expect(attempt('Bearer sk-weir-a', credential)).rejects.toMatchObject({ code });
  });
});
