import { hash, randomBytes } from 'node:crypto';
import { type Clock, within } from '../../core/clock.ts';
import { Failure } from '../../core/failure.ts';
import {
  clusterIssuer,
  type Identity,
  type IdentityAccount,
  type RefusedTokens,
  type TokenCaller,
  type Tokens,
} from '../../core/identity.ts';
import { quoted } from '../../core/one-line.ts';
import {
  compileIdentity,
  type CompiledIdentity,
  findIdentity,
  identityOfClaims,
  type FoundIdentity,
  leewaySeconds,
  refusedBy,
  TokenRefused,
} from './find-identity.ts';
import { looksLikeToken } from './token-text.ts';
import { createIssuer, type Issuer, type ReadIssuer } from './issuer-keys.ts';
import { putNewest } from '../../core/put-newest.ts';

export interface TokensOptions {
  /** The identities in force, in the order of their names. Rejects while the accounts cannot be read. */
  readonly identities: () => Promise<readonly Identity[]>;
  /** Makes an account at its first use, and returns its hash. Undefined: there is no such workspace. */
  readonly open: (account: IdentityAccount) => Promise<string | undefined>;
  /** Asks an issuer, by `Identity.issuer`. */
  readonly issuer: (issuer: string) => ReadIssuer;
  /** Whether the API server knows the ServiceAccount and the pod of a token. Absent: there is no API server. */
  readonly review?: ((token: string, audience: string) => Promise<boolean>) | undefined;
  /** A token let nobody in. Called for each one that is not remembered. */
  readonly refused: (refusal: Pick<TokenRefused, 'fault' | 'reason'>) => void;
  readonly clock: Clock;
}

/** Tokens that are remembered at once, some 300 bytes each. */
const maxRemembered = 10_000;
/** How old the list of identities can be before it is read again. */
const maxListAgeMs = 500;
/** A change of an identity counts within this time. A remembered token that comes after a quiet time waits for a younger list. */
const maxOldListMs = 1_000;
/** How long a token waits for a younger list, while there is an older one. */
const maxListWaitMs = 1_000;
const maxReviewAgeMs = 10_000;
/** While the API server is away, an earlier review counts for so long. */
const maxReviewAwayMs = 10 * 60_000;
/** Refusals that are this old are no problem any more: whoever sends the tokens has stopped, or sends others. */
export const refusedForMs = 10 * 60_000;

interface Remembered {
  readonly caller: TokenCaller;
  readonly isBound: boolean;
  readonly audience: string;
  /** Milliseconds since the Unix epoch. */
  readonly until: number;
  /** Monotonic milliseconds. */
  reviewedAt: number;
}

/** A token, or the claims of one that a gateway in front has verified. */
interface Sent {
  readonly kind: 'token' | 'claims';
  readonly text: string;
}

export function createTokens(options: TokensOptions): Tokens {
  const { clock } = options;
  /** Names tokens in memory, so that a dump of it has no digest that could be compared with others. */
  const secret = randomBytes(32).toString('base64');
  // In one call, which takes a third of the time of `createHmac`. Nobody sees the digest, so nobody can extend it.
  const nameOf = ({ kind, text }: Sent): string => hash('sha256', `${secret} ${kind} ${text}`, 'base64');
  const remembered = new Map<string, Remembered>();
  /** What is being found out about a token, for all requests that wait for it. */
  const pending = new Map<string, Promise<TokenCaller>>();
  const issuers = new Map<string, Issuer>();
  const refusals = createRefusedTokens(clock);
  const accounts = createAccounts(options);
  const list = createList(options, () => {
    remembered.clear();
    accounts.forget();
    // What was refused may be accepted now.
    refusals.clear();
  });

  const issuerOf = (name: string): Issuer =>
    issuers.getOrInsertComputed(name, () => createIssuer(options.issuer(name), clock));

  async function verify(sent: Sent, name: string): Promise<TokenCaller> {
    const { compiled: identities, version } = await list.current();
    const found = await (sent.kind === 'token'
      ? findIdentity(sent.text, { identities, issuerOf, clock })
      : identityOfClaims(sent.text, { identities, issuerOf, clock }));
    const { id: identityId, each, isBound, audience } = found.identity;
    const { subject, workspace, tags, expiresAt } = found;
    if (isBound) await checkBound(sent, found, options);
    const account = await accounts.open({ identityId, workspace, subject: each === 'subject' ? subject : undefined });
    if (account === undefined)
      throw refusedBy(found.identity, 'no-workspace', `no workspace ${quoted(workspace)}: ${found.identity.name}`);
    const caller = { hash: account, tags };
    const until = expiresAt + leewaySeconds * 1_000;
    // An identity may have changed meanwhile.
    const entry = { caller, isBound, audience, until, reviewedAt: clock.elapsed() };
    if (version === list.version()) putNewest(remembered, maxRemembered, [name, entry]);
    return caller;
  }

  /** Reviews the token of a bound identity again. While the API server is away, it stays good for a while. */
  async function reviewAgain(token: string, name: string, entry: Remembered): Promise<TokenCaller> {
    const age = clock.elapsed() - entry.reviewedAt;
    try {
      if ((await options.review?.(token, entry.audience)) !== true) {
        remembered.delete(name);
        throw new TokenRefused('not-bound');
      }
      entry.reviewedAt = clock.elapsed();
    } catch (error) {
      if (error instanceof TokenRefused) throw error;
      if (age >= maxReviewAwayMs) throw new TokenRefused('issuer-away', { cause: error });
    }
    return entry.caller;
  }

  async function reported(name: string, find: () => Promise<TokenCaller>): Promise<TokenCaller | undefined> {
    try {
      return await pending.getOrInsertComputed(name, () => find().finally(() => pending.delete(name)));
    } catch (error) {
      if (!(error instanceof TokenRefused)) throw unknown(error);
      // The error itself may have the claims.
      const { fault, reason, signedBy } = error;
      options.refused({ fault, reason });
      refusals.note({ fault, reason, signedBy });
      if (error.fault === 'issuer-away') throw unknown(error);
      return undefined;
    }
  }

  function find(sent: Sent): TokenCaller | Promise<TokenCaller | undefined> {
    list.refresh();
    const name = nameOf(sent);
    return list.isOld() && remembered.has(name) ? list.wait().then(() => judge(sent, name)) : judge(sent, name);
  }

  function judge(sent: Sent, name: string): TokenCaller | Promise<TokenCaller | undefined> {
    const known = remembered.get(name);
    if (known === undefined || known.until <= clock.now()) return reported(name, () => verify(sent, name));
    if (!known.isBound || clock.elapsed() - known.reviewedAt < maxReviewAgeMs) return known.caller;
    return reported(name, () => reviewAgain(sent.text, name, known));
  }

  // The first token need not wait for the list.
  list.refresh();
  return {
    looksLikeToken,
    find: (text) => find({ kind: 'token', text }),
    findVerified: (text) => find({ kind: 'claims', text }),
    refusals: refusals.list,
  };
}

async function checkBound(
  { kind, text: token }: Sent,
  { identity }: FoundIdentity,
  { review }: Pick<TokensOptions, 'review'>,
): Promise<void> {
  // The API server reviews tokens, and not their claims.
  if (identity.issuer !== clusterIssuer || review === undefined || kind === 'claims')
    throw new TokenRefused('not-bound', { reason: `no TokenReview is possible: ${identity.name}` });
  let isKnown: boolean;
  try {
    isKnown = await review(token, identity.audience);
  } catch (cause) {
    throw new TokenRefused('issuer-away', { cause });
  }
  if (!isKnown) throw new TokenRefused('not-bound', { reason: identity.name });
}

const unknown = (cause: unknown): Failure =>
  new Failure('internal', 'The service could not verify the token. It is safe to retry.', { cause });

/** An identity of a later version may have rules that this one cannot read: its tokens let nobody in here. */
function compiledOrLeft(identity: Identity): readonly CompiledIdentity[] {
  try {
    return [compileIdentity(identity)];
  } catch {
    return [];
  }
}

/** Accounts that are open, so that a renewed token of a known caller is accepted while the database is away, as a key is. */
function createAccounts({ open }: Pick<TokensOptions, 'open'>) {
  const hashes = new Map<string, string>();
  return {
    /** As `TokensOptions.open`. */
    open: async (account: IdentityAccount): Promise<string | undefined> => {
      const { identityId, workspace, subject } = account;
      const name = JSON.stringify([identityId, workspace, subject]);
      const known = hashes.get(name);
      if (known !== undefined) return known;
      // Once more: a connection can be lost, and a transaction rolled back beside another one.
      const opened = await open(account).catch(() => open(account));
      if (opened !== undefined) putNewest(hashes, maxRemembered, [name, opened]);
      return opened;
    },
    /** Call it when an identity has changed. */
    forget: (): void => hashes.clear(),
  };
}

/**
 * Remembers the newest refusals, by issuer and fault, of tokens that a known issuer has signed. Tokens that anybody could have
 * written are left out, so that no stranger writes into the list of problems.
 */
function createRefusedTokens({ elapsed }: Pick<Clock, 'elapsed'>) {
  const refusals = new Map<string, RefusedTokens & { readonly at: number }>();

  function forgetOld(now: number): void {
    for (const [name, { at }] of refusals) if (now - at >= refusedForMs) refusals.delete(name);
  }

  return {
    note: ({ fault, reason = fault, signedBy: issuer }: Pick<TokenRefused, 'fault' | 'reason' | 'signedBy'>): void => {
      if (issuer === undefined) return;
      const now = elapsed();
      forgetOld(now);
      const name = `${fault} ${issuer}`;
      refusals.set(name, { issuer, fault, reason, count: (refusals.get(name)?.count ?? 0) + 1, at: now });
    },
    list: (): readonly RefusedTokens[] => {
      forgetOld(elapsed());
      return [...refusals.values()].map(({ issuer, fault, reason, count }) => ({ issuer, fault, reason, count }));
    },
    clear: (): void => refusals.clear(),
  };
}

/** The identities, compiled. They are read again while tokens arrive. */
function createList({ identities, clock }: TokensOptions, onChange: () => void) {
  let compiled: readonly CompiledIdentity[] | undefined;
  let version = 0;
  let text = '';
  let askedAt = -Infinity;
  /** When the reading began that the list is of. */
  let readAt = -Infinity;
  /** The accounts did not answer the last time, or not in time. */
  let isAway = false;
  let reading: Promise<void> | undefined;
  let failure: unknown;

  async function read(): Promise<void> {
    const began = clock.elapsed();
    askedAt = began;
    try {
      const found = await identities();
      readAt = began;
      isAway = false;
      const now = JSON.stringify(found, (_, value: unknown) => (typeof value === 'bigint' ? `${value}` : value));
      if (now === text) return;
      compiled = found.flatMap(compiledOrLeft);
      version += 1;
      text = now;
      onChange();
    } catch (error) {
      // A list that is known stays.
      failure = error;
      isAway = true;
    } finally {
      reading = undefined;
    }
  }

  function refresh(): void {
    if (reading === undefined && clock.elapsed() - askedAt >= maxListAgeMs) reading = read();
  }

  async function wait(): Promise<void> {
    const awaited = reading;
    if (awaited === undefined) return;
    await within(maxListWaitMs, clock, awaited);
    if (reading === awaited) isAway = true;
  }

  return {
    refresh,
    wait,
    /** Whether a younger list is on its way that is worth waiting for. */
    isOld: () => reading !== undefined && !isAway && clock.elapsed() - readAt >= maxOldListMs,
    version: () => version,
    current: async () => {
      // A token that was not seen before may be that of a new identity.
      await (compiled === undefined ? reading : wait());
      if (compiled === undefined) throw failure;
      return { compiled, version };
    },
  };
}
