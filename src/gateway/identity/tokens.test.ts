import { generateKeyPairSync } from 'node:crypto';
import { exportJWK, type JSONWebKeySet, SignJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import type { Identity, TokenFault } from '../../core/identity.ts';
import { createTokens, refusedForMs } from './tokens.ts';

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const issuer = 'https://issuer.test';
const keys: JSONWebKeySet = { keys: [{ ...(await exportJWK(publicKey)), kid: 'a', alg: 'ES256' }] };

const identity = (over: Partial<Identity> = {}): Identity => ({
  ...{ id: 'identity_1', name: 'search', issuer, audience: 'weir', match: ['claims.sub == "indexer"'] },
  ...{ workspace: { name: 'team' }, each: 'identity', tags: {}, isBound: false },
  ...{ rate: 10, burst: 20, budget: { limit: 5n, period: 'day' }, models: undefined, status: 'active' },
  ...over,
});

function open(first: readonly Identity[] = [identity()], trouble: 'isAway' | 'accountsDown' | 'none' = 'none') {
  const clock = createFakeClock();
  const state = {
    identities: first,
    isAway: false,
    isKnown: true as boolean | 'away',
    accountsDown: false as boolean | 'silent',
    failingOpens: 0,
    [trouble]: true,
  };
  const calls = { lists: 0, issuer: 0, reviews: 0, opens: 0 };
  const opened: unknown[] = [];
  const faults: TokenFault[] = [];
  const tokens = createTokens({
    clock,
    identities: async () => {
      calls.lists += 1;
      if (state.accountsDown === 'silent') await new Promise(() => undefined);
      if (state.accountsDown) throw new Error('the database is down');
      return state.identities;
    },
    open: async (account) => {
      calls.opens += 1;
      if (state.accountsDown !== false || calls.opens <= state.failingOpens) throw new Error('the database is down');
      opened.push(account);
      return account.workspace === 'team' ? `hash of ${account.identityId} ${account.subject}` : undefined;
    },
    issuer: () => async () => {
      calls.issuer += 1;
      if (state.isAway) throw new Error('away');
      return { issuer, keys };
    },
    review: async () => {
      calls.reviews += 1;
      if (state.isKnown === 'away') throw new Error('away');
      return state.isKnown;
    },
    refused: ({ fault }) => faults.push(fault),
  });
  const tokenOf = (sub = 'indexer', seconds = 3_600): Promise<string> =>
    new SignJWT({ sub, iss: issuer, aud: 'weir', exp: clock.now() / 1_000 + seconds })
      .setProtectedHeader({ alg: 'ES256', kid: 'a' })
      .sign(privateKey);
  return {
    ...{ tokens, tokenOf, clock, state, calls, opened, faults },
    find: async (text: string) => tokens.find(text),
  };
}

describe('a token', () => {
  it('is verified once, and answered at once from then on', async () => {
    const { tokens, find, tokenOf, opened } = open();
    const token = await tokenOf();
    await expect(find(token)).resolves.toEqual({ hash: 'hash of identity_1 undefined', tags: {} });
    expect(tokens.find(token)).toEqual({ hash: 'hash of identity_1 undefined', tags: {} });
    expect(opened).toHaveLength(1);
  });

  it('ends, with its leeway, also if it is remembered', async () => {
    const { clock, find, tokenOf, faults } = open();
    const token = await tokenOf('indexer', 60);
    await find(token);
    clock.advance(119_000);
    await expect(find(token)).resolves.toBeDefined();
    clock.advance(1_000);
    await expect(find(token)).resolves.toBeUndefined();
    expect(faults).toEqual(['expired']);
  });

  it('has its account opened once more if that failed', async () => {
    const { find, tokenOf, state, opened } = open([identity({ match: ['true'] })]);
    state.failingOpens = 1;
    await expect(find(await tokenOf())).resolves.toBeDefined();
    expect(opened).toHaveLength(1);
  });

  it('has an account of its subject', async () => {
    const { find, tokenOf, opened } = open([identity({ each: 'subject', match: ['true'] })]);
    for (const sub of ['a', 'b']) await find(await tokenOf(sub));
    expect(opened).toMatchObject([{ subject: 'a' }, { subject: 'b' }]);
  });

  it.each([
    ['no identity', 'stranger', identity(), 'no-identity'],
    ['no workspace', 'indexer', identity({ workspace: { name: 'gone' } }), 'no-workspace'],
  ] as const)('with %s lets nobody in, and is not remembered', async (_, sub, one, fault) => {
    const { find, tokenOf, faults } = open([one]);
    const token = await tokenOf(sub);
    await expect(find(token)).resolves.toBeUndefined();
    await expect(find(token)).resolves.toBeUndefined();
    expect(faults).toEqual([fault, fault]);
  });

  it.each(['isAway', 'accountsDown'] as const)('cannot be judged while %s, which is no refusal', async (what) => {
    const { find, tokenOf, state, clock } = open(undefined, what);
    await expect(find(await tokenOf())).rejects.toMatchObject({ code: 'internal' });
    state[what] = false;
    clock.advance(1_000);
    await expect(find(await tokenOf())).resolves.toBeDefined();
  });
});

describe('refused tokens', () => {
  it('are counted by fault, with the newest reason, for ten minutes', async () => {
    const { clock, find, tokenOf, tokens } = open();
    await find(await tokenOf('stranger'));
    await find(await tokenOf('another'));
    await find(await tokenOf('indexer', -300));
    expect(tokens.refusals()).toEqual([
      { issuer, fault: 'no-identity', reason: 'match is not true: search', count: 2 },
      { issuer, fault: 'expired', reason: '"exp" claim timestamp check failed', count: 1 },
    ]);
    clock.advance(refusedForMs);
    expect(tokens.refusals()).toEqual([]);
  });

  it('of strangers are not counted: anybody could write what they have', async () => {
    const { find, tokenOf, tokens, faults } = open();
    const [head, claims] = (await tokenOf('stranger')).split('.');
    await find(`${head}.${claims}.${'A'.repeat(86)}`);
    const elsewhere = new SignJWT({ sub: 'x', iss: 'https://a.test' }).setProtectedHeader({ alg: 'ES256' });
    await find(await elsewhere.sign(privateKey));
    expect([faults, tokens.refusals()]).toEqual([['signature', 'unknown-issuer'], []]);
  });

  it('count no more when the identities change', async () => {
    const { clock, find, tokenOf, state, tokens } = open([identity({ audience: 'another' })]);
    await find(await tokenOf());
    expect(tokens.refusals()).toMatchObject([{ reason: 'aud is "weir", expected "another"' }]);
    state.identities = [identity()];
    clock.advance(500);
    await expect(find(await tokenOf())).resolves.toBeDefined();
    expect(tokens.refusals()).toEqual([]);
  });
});

describe('a change of the identities', () => {
  it('ends what is remembered within a second, while tokens arrive', async () => {
    const { clock, find, tokenOf, state, calls } = open();
    const token = await tokenOf();
    await find(token);
    state.identities = [identity({ match: ['claims.sub == "another"'] })];
    clock.advance(500);
    await find(token);
    clock.advance(1);
    await expect(find(token)).resolves.toBeUndefined();
    expect(calls.lists).toBe(2);
  });

  it('counts for a token that is remembered and has not been seen for a while', async () => {
    const { clock, find, tokenOf, state } = open();
    const token = await tokenOf();
    await find(token);
    state.identities = [identity({ match: ['claims.sub == "another"'] })];
    clock.advance(60_000);
    await expect(find(token)).resolves.toBeUndefined();
  });

  it('is waited for by a token that is remembered for a second, once, while the accounts are silent', async () => {
    const { clock, tokens, find, tokenOf, state } = open();
    const token = await tokenOf();
    await find(token);
    state.accountsDown = 'silent';
    clock.advance(60_000);
    const waiting = find(token);
    clock.advance(1_000);
    await expect(waiting).resolves.toBeDefined();
    expect(tokens.find(token)).not.toBeInstanceOf(Promise);
  });

  it('leaves out an identity whose rules cannot be read here', async () => {
    const { find, tokenOf } = open([identity({ id: 'later', match: ['later.rule()'] }), identity()]);
    await expect(find(await tokenOf())).resolves.toMatchObject({ hash: 'hash of identity_1 undefined' });
  });

  it('counts for the first token after it', async () => {
    const { clock, find, tokenOf, state } = open([]);
    await expect(find(await tokenOf())).resolves.toBeUndefined();
    state.identities = [identity()];
    clock.advance(500);
    await expect(find(await tokenOf('indexer', 60))).resolves.toBeDefined();
  });

  it('is not needed, and the old list stays while the accounts cannot be read', async () => {
    const { clock, find, tokenOf, state } = open();
    const token = await tokenOf();
    await find(token);
    state.accountsDown = true;
    clock.advance(10_000);
    await expect(find(token)).resolves.toBeDefined();
    // As that of a pod whose token was renewed.
    await expect(find(await tokenOf('indexer', 7_200))).resolves.toBeDefined();
  });
});

describe('the token of a bound identity', () => {
  const bound = [identity({ issuer: 'cluster', isBound: true })];

  it('is reviewed at first, and again after ten seconds', async () => {
    const { clock, find, tokenOf, state, calls, faults } = open(bound);
    const token = await tokenOf();
    await find(token);
    clock.advance(9_999);
    await find(token);
    expect(calls.reviews).toBe(1);
    state.isKnown = false;
    clock.advance(1);
    await expect(find(token)).resolves.toBeUndefined();
    expect(faults).toEqual(['not-bound']);
  });

  it('stays good for ten minutes while the API server is away', async () => {
    const { clock, find, tokenOf, state } = open(bound);
    const token = await tokenOf();
    await find(token);
    state.isKnown = 'away';
    clock.advance(599_999);
    await expect(find(token)).resolves.toBeDefined();
    clock.advance(1);
    await expect(find(token)).rejects.toMatchObject({ code: 'internal' });
  });

  it('is reviewed once for all requests that come meanwhile', async () => {
    const { clock, find, tokenOf, calls } = open(bound);
    const token = await tokenOf();
    await Promise.all([find(token), find(token)]);
    clock.advance(10_000);
    await Promise.all([find(token), find(token)]);
    expect(calls.reviews).toBe(2);
  });

  it('is not let in while nobody can review it', async () => {
    const { find, tokenOf, state } = open(bound);
    state.isKnown = 'away';
    await expect(find(await tokenOf())).rejects.toMatchObject({ code: 'internal' });
  });
});
