import { errors, jwtVerify, type JWTPayload } from 'jose';
import type { Clock } from '../../core/clock.ts';
import { compileRule, type Rule } from '../../core/claim-rule.ts';
import { messageOf } from '../../core/failure.ts';
import { clusterIssuer, type Identity, type TokenFault } from '../../core/identity.ts';
import { quoted } from '../../core/one-line.ts';
import { type Issuer, IssuerAway } from './issuer-keys.ts';
import { claimsIn, claimsOf } from './token-text.ts';

/** Asymmetric ones alone: a token that is signed with the issuer's public key as a shared secret must let nobody in. */
const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];

/** How far the clocks of issuer and gateway may differ, seconds. */
export const leewaySeconds = 60;

/** How long claims without an end are remembered, seconds. */
const unboundedSeconds = 60;

/** A token lets nobody in. */
export class TokenRefused extends Error {
  override readonly name = 'TokenRefused';
  readonly fault: TokenFault;
  /** The value in the token, and the expected one, for the log and for problems. Contains no claim of a person. */
  readonly reason: string | undefined;
  /** `Identity.issuer`, if that issuer has signed the token: what it has is no invention of a stranger. */
  readonly signedBy: string | undefined;

  constructor(
    fault: TokenFault,
    {
      cause,
      reason,
      signedBy,
    }: { readonly cause?: unknown; readonly reason?: string; readonly signedBy?: string } = {},
  ) {
    super(fault, { cause });
    this.fault = fault;
    this.reason = reason ?? (cause === undefined ? undefined : messageOf(cause));
    this.signedBy = signedBy;
  }
}

/** Whom a token names. */
export interface FoundIdentity {
  readonly identity: Identity;
  readonly subject: string;
  /** Name of the workspace that pays. */
  readonly workspace: string;
  /** Tags by name, which win over those of the header. */
  readonly tags: Readonly<Record<string, string>>;
  /** End of the token, milliseconds since the Unix epoch. */
  readonly expiresAt: number;
}

export type CompiledIdentity = ReturnType<typeof compileIdentity>;

/** Throws the error of the first expression that is wrong. */
export function compileIdentity(identity: Identity) {
  const { match, tags, workspace } = identity;
  return {
    identity,
    match: match.map(compileRule),
    workspace: 'name' in workspace ? () => workspace.name : workspaceRule(workspace),
    tags: Object.entries(tags).map(([name, text]): readonly [string, Rule] => [name, compileRule(text)]),
  };
}

/**
 * Verifies a token and finds its identity. `identities`: in the order of their names; the first one that matches wins. Rejects with
 * `TokenRefused`. Headers that name a key or an address (`jku`, `jwk`, `x5u`, `x5c`) are not read: keys come from the issuer alone.
 */
export async function findIdentity(
  token: string,
  options: {
    readonly identities: readonly CompiledIdentity[];
    /** By `Identity.issuer`. */
    readonly issuerOf: (issuer: string) => Issuer;
    readonly clock: Pick<Clock, 'now'>;
  },
): Promise<FoundIdentity> {
  const unverified = claimsIn(token);
  if (unverified === undefined) throw new TokenRefused('malformed');
  const ofIssuer = await identitiesOf(unverified.iss, options);
  const [{ identity: first }] = ofIssuer;
  const claims = await verified(token, first, { ...options, issuer: options.issuerOf(first.issuer) });
  return match(claims, ofIssuer);
}

/**
 * Finds the identity of claims that another gateway has verified. It may remove those that it has judged: only one that is there is
 * looked at.
 */
export async function identityOfClaims(
  text: string,
  options: Parameters<typeof findIdentity>[1],
): Promise<FoundIdentity> {
  const claims = claimsOf(text);
  if (claims === undefined) throw new TokenRefused('malformed');
  const now = options.clock.now() / 1_000;
  const { exp = now + unboundedSeconds } = claims;
  if (exp + leewaySeconds <= now) throw new TokenRefused('expired');
  return match({ ...claims, exp }, await identitiesOf(claims.iss, options));
}

/** The identities that take tokens of an issuer. The API server's name is known when it has been asked. */
async function identitiesOf(
  iss: string | undefined,
  { identities, issuerOf }: Pick<Parameters<typeof findIdentity>[1], 'identities' | 'issuerOf'>,
): Promise<readonly [CompiledIdentity, ...CompiledIdentity[]]> {
  const named = identities.filter(({ identity }) => identity.issuer === iss);
  const ofCluster = identities.filter(({ identity }) => identity.issuer === clusterIssuer);
  const isOfCluster =
    named.length === 0 && ofCluster.length > 0 && (await clusterName(issuerOf(clusterIssuer))) === iss;
  const [first, ...others] = isOfCluster ? ofCluster : named;
  if (first === undefined)
    throw new TokenRefused('unknown-issuer', { reason: `no Identity has the issuer ${quoted(iss ?? '')}` });
  return [first, ...others];
}

function match(claims: JWTPayload, ofIssuer: readonly [CompiledIdentity, ...CompiledIdentity[]]): FoundIdentity {
  const [{ identity: first }] = ofIssuer;
  const audiences = [claims.aud ?? []].flat();
  const ofAudience = ofIssuer.filter(({ identity }) => audiences.includes(identity.audience));
  if (ofAudience.length === 0) {
    const expected = listOf(ofIssuer.map(({ identity }) => quoted(identity.audience)));
    throw refusedBy(first, 'other-audience', `aud is ${listOf(audiences.map(quoted))}, expected ${expected}`);
  }
  const one = ofAudience.find(({ match: rules }) => rules.every((rule) => rule(claims) === true));
  if (one === undefined) {
    const tried = listOf(ofAudience.map(({ identity }) => identity.name));
    throw refusedBy(first, 'no-identity', `match is not true: ${tried}`);
  }
  return {
    identity: one.identity,
    subject: claims.sub ?? '',
    workspace: workspaceOf(one, claims),
    tags: tagsOf(one, claims),
    expiresAt: (claims.exp ?? 0) * 1_000,
  };
}

async function verified(
  token: string,
  identity: Identity,
  { issuer, clock }: { readonly issuer: Issuer; readonly clock: Pick<Clock, 'now'> },
): Promise<JWTPayload> {
  const now = clock.now();
  try {
    const { payload } = await jwtVerify(token, issuer.keyOf, {
      ...{ algorithms, clockTolerance: leewaySeconds, currentDate: new Date(now) },
      issuer: await issuer.name(),
      requiredClaims: ['exp', 'sub'],
    });
    const { iat } = payload;
    if (iat !== undefined && iat > now / 1_000 + leewaySeconds)
      throw refusedBy(identity, 'not-yet-valid', '"iat" claim timestamp check failed');
    return payload;
  } catch (error) {
    const refused = refusedFor(error);
    // `jose` looks at the times after the signature.
    const isSigned = refused.fault === 'expired' || refused.fault === 'not-yet-valid';
    throw isSigned ? refusedBy(identity, refused.fault, refused.reason ?? '') : refused;
  }
}

/** The name of the API server as an issuer. */
async function clusterName(issuer: Issuer): Promise<string> {
  try {
    return await issuer.name();
  } catch (error) {
    throw refusedFor(error);
  }
}

const refusedFor = (error: unknown): TokenRefused =>
  error instanceof TokenRefused ? error : new TokenRefused(faultOf(error), { cause: error });

function faultOf(error: unknown): TokenFault {
  if (error instanceof IssuerAway) return 'issuer-away';
  if (error instanceof errors.JWTExpired) return 'expired';
  if (error instanceof errors.JWTClaimValidationFailed) return error.claim === 'nbf' ? 'not-yet-valid' : 'malformed';
  if (error instanceof errors.JOSEAlgNotAllowed) return 'algorithm';
  if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys)
    return 'unknown-key';
  return error instanceof errors.JWSSignatureVerificationFailed ? 'signature' : 'malformed';
}

/** Workspaces of objects have names without "_", which separates their namespace from their name in the ledger. */
const declaredName = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;

function workspaceRule({ claim, prefix }: Extract<Identity['workspace'], { readonly claim: string }>): Rule {
  const rule = compileRule(claim);
  if (prefix === undefined) return rule;
  return (claims) => {
    const name = rule(claims);
    return typeof name === 'string' && declaredName.test(name) ? prefix + name : undefined;
  };
}

function workspaceOf({ workspace, identity }: CompiledIdentity, claims: JWTPayload): string {
  const name = workspace(claims);
  if (typeof name === 'string' && name !== '') return name;
  throw refusedBy(identity, 'no-workspace', `the claims name no workspace: ${identity.name}`);
}

/** A token without a text for a tag is refused: nobody may leave the tag out. */
function tagsOf({ tags, identity }: CompiledIdentity, claims: JWTPayload): Readonly<Record<string, string>> {
  return Object.fromEntries(
    tags.map(([name, rule]) => {
      const value = rule(claims);
      if (typeof value !== 'string')
        throw refusedBy(identity, 'no-identity', `tag ${name} has no value: ${identity.name}`);
      return [name, value];
    }),
  );
}

/** A token that an identity's issuer has signed lets nobody in. */
export const refusedBy = ({ issuer }: Pick<Identity, 'issuer'>, fault: TokenFault, reason: string): TokenRefused =>
  new TokenRefused(fault, { reason, signedBy: issuer });

/** How many names or audiences a reason lists. */
const maxListed = 5;
const listOf = (texts: readonly string[]): string => [...new Set(texts)].slice(0, maxListed).join(', ');
