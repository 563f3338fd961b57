import { describe, expect, it } from 'vitest';
import { credentialOf } from '../../../test/support/credential-of.ts';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import type { Credential } from '../../core/account.ts';
import { Failure } from '../../core/failure.ts';
import { portalSessionHeader, portalSessionName, portalSessionValue } from '../core/portal-session.ts';
import { createAddressGate, throughGate, tolerated } from './address-gate.ts';
import { authenticate, type AuthenticateOptions, bearerText, listedModels, originOf } from './authenticate.ts';

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
    clock: createFakeClock(),
    abuseContact: 'abuse@example.com',
    sharedSecret: () => '',
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
      ...{
        looksLikeKey: () => true,
        hashKey: String,
        abuseContact: '',
        sharedSecret: () => '',
        clock: createFakeClock(),
      },
      store: { findCredential: () => answers.shift(), settle: () => Promise.resolve(), canSettle: () => true },
    });
    expect(await latest()).toBeUndefined();
  });

  it.each([
    ['suspended', 'suspended'],
    ['revoked', 'unauthenticated'],
  ] as const)('takes a block that says %s over the status that was read', async (status, code) => {
    const blockOf = (id: string) => (id === credentialOf().key.id ? status : undefined);
    const options = {
      ...{ looksLikeKey: () => true, hashKey: String, abuseContact: '', sharedSecret: () => '', blockOf },
      clock: createFakeClock(),
      store: { findCredential: () => credentialOf(), settle: () => Promise.resolve(), canSettle: () => true },
    };
    const attempted = authenticate(headOf('Bearer sk-weir-a'), ['authorization'], options);
    await expect(attempted).rejects.toMatchObject({ code });
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
      ...{
        looksLikeKey: () => true,
        hashKey: String,
        abuseContact: '',
        sharedSecret: () => '',
        clock: createFakeClock(),
      },
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

/** A key that runs out after five seconds, as the store remembers it all the while. */
function expiring() {
  const clock = createFakeClock();
  const credential = credentialOf({ key: { expiresAt: clock.now() + 5_000, models: ['a/*'] } });
  const options: AuthenticateOptions = {
    ...{ looksLikeKey: () => true, hashKey: String, abuseContact: '', sharedSecret: () => '', clock },
    store: { findCredential: () => credential, settle: () => Promise.resolve(), canSettle: () => true },
  };
  return { clock, options };
}

describe('a key with an expiry', () => {
  it('is good up to that moment and unauthenticated from it on, whatever is remembered of it', async () => {
    const { clock, options } = expiring();
    const ask = () => authenticate(headOf('Bearer sk-weir-a'), ['authorization'], options);
    clock.advance(4_999);
    expect((await ask()).credential.key.id).toBe('key-1');
    clock.advance(1);
    await expect(ask()).rejects.toMatchObject({
      code: 'unauthenticated',
      message: 'Missing or invalid API key: this key has expired.',
    });
  });

  it('that is over does not say whether its workspace is suspended', async () => {
    const { clock, options } = expiring();
    clock.advance(5_000);
    const credential = credentialOf({ key: { expiresAt: clock.now() }, workspace: { status: 'suspended' } });
    const store = { ...options.store, findCredential: () => credential };
    const asked = authenticate(headOf('Bearer sk-weir-a'), ['authorization'], { ...options, store });
    await expect(asked).rejects.toMatchObject({ code: 'unauthenticated' });
  });
});

describe('the models that the catalog is narrowed to', () => {
  it('are those of the key, in the header of either surface', () => {
    const { options } = expiring();
    expect(listedModels(headOf('Bearer sk-weir-a'), options)).toEqual(['a/*']);
    expect(listedModels(headOf(undefined, 'sk-weir-a'), options)).toEqual(['a/*']);
  });

  it('are found where the store has to look the key up', async () => {
    const { options } = expiring();
    const credential = credentialOf({ key: { models: ['a/b'] } });
    const store = { ...options.store, findCredential: () => Promise.resolve(credential) };
    expect(await listedModels(headOf('Bearer sk-weir-a'), { ...options, store })).toEqual(['a/b']);
  });

  it.each<[string, AuthenticateOptions['store']['findCredential']]>([
    ['an unknown key', () => undefined],
    ['a key that may call everything', () => credentialOf()],
    ['a revoked key', () => credentialOf({ key: { status: 'revoked', models: ['a/*'] } })],
    ['an expired key', () => credentialOf({ key: { expiresAt: 0, models: ['a/*'] } })],
    ['a key that cannot be looked up', () => Promise.reject(new Error('away'))],
  ])('are all models for %s: the catalog is public', async (_, findCredential) => {
    const { options } = expiring();
    const store = { ...options.store, findCredential };
    expect(await listedModels(headOf('Bearer sk-weir-a'), { ...options, store })).toBeUndefined();
  });

  it('are all models without a key, and nothing is looked up', () => {
    const { options } = expiring();
    const store = { ...options.store, findCredential: () => expect.unreachable() };
    for (const head of [headOf(), headOf('Basic x')]) {
      expect(listedModels(head, { ...options, looksLikeKey: (text) => text.startsWith('sk-'), store })).toBeUndefined();
    }
  });
});

describe('the origin of a request of the portal', () => {
  const portalAddress = '192.0.2.1';
  const sharedSecret = (): string => 'secret';
  const keys = { looksLikeKey: (text: string) => text.startsWith('sk-weir-'), hashKey: String, sharedSecret };
  const neighbour = credentialOf();
  const [badSession, goodSession] = [portalSessionName('bad'), portalSessionName('good')];

  /** A request with a key's text. `proofOf`: what the portal has proved, if it did. */
  const headFrom = (
    text: string,
    proof: { readonly sessionName: string; readonly of?: string | undefined } | undefined,
    more = {},
  ) => {
    const headers: Readonly<Record<string, string | undefined>> = {
      authorization: `Bearer ${text}`,
      [portalSessionHeader]:
        proof && portalSessionValue({ sessionName: proof.sessionName, keyHash: proof.of ?? text }, sharedSecret()),
      ...more,
    };
    return { method: 'POST', path: '/', address: portalAddress, header: (name: string) => headers[name] };
  };

  /** The code with which a neighbour's good key is refused after many failures of one person. */
  async function neighbourAfter(text: string, isProved: boolean): Promise<string> {
    const clock = createFakeClock();
    const gate = createAddressGate({ clock });
    const options: AuthenticateOptions = {
      ...{ ...keys, clock, abuseContact: '' },
      store: {
        findCredential: (hash) => (hash === 'sk-weir-good' ? neighbour : undefined),
        settle: () => Promise.resolve(),
        canSettle: () => true,
      },
    };
    const send = (head: ReturnType<typeof headFrom>): Promise<string> =>
      throughGate(originOf(head, ['authorization'], keys), gate, () =>
        authenticate(head, ['authorization'], options),
      ).then(
        () => 'served',
        (error: unknown) => (error instanceof Failure ? error.code : 'unknown'),
      );
    const bad = headFrom(text, isProved ? { sessionName: badSession } : undefined);
    for (let count = 0; count <= tolerated; count += 1) expect(await send(bad)).toBe('unauthenticated');
    expect(await send(bad)).toBe('rate_limited');
    return send(
      headFrom('sk-weir-good', { sessionName: isProved ? goodSession : badSession, of: isProved ? undefined : 'x' }),
    );
  }

  const texts = ['x', 'weir-sa-of-a-script', 'sk-weir-unknown', '!'.repeat(200)];

  it.each(texts)('is the session, whatever text a person has sent as a key: %s', async (text) => {
    expect(await neighbourAfter(text, true)).toBe('served');
  });

  it.each(texts)('is the address without the proof, and shuts out all who share it: %s', async (text) => {
    expect(await neighbourAfter(text, false)).toBe('rate_limited');
  });

  it('is the address for another text than the proved one, in either header', () => {
    const originIn = (head: ReturnType<typeof headFrom>) => originOf(head, ['x-api-key', 'authorization'], keys);
    expect(originIn(headFrom('x', { sessionName: goodSession }))).toBe(goodSession);
    expect(originIn(headFrom('y', { sessionName: goodSession, of: 'x' }))).toBe(portalAddress);
    expect(originIn(headFrom('x', { sessionName: goodSession }, { 'x-api-key': 'sk-weir-guess' }))).toBe(portalAddress);
  });
});
