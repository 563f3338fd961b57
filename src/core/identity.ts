import type { AccountChange, AccountFields, AccountValues } from './account-field.ts';
import { keyFields } from './account.ts';

/** `Identity.issuer` of the API server of the own cluster, which also answers TokenReviews. */
export const clusterIssuer = 'cluster';

/** Limits of an identity: those of a key. Its status says whether its tokens let anybody in. */
export const identityLimits = {
  status: keyFields.status,
  budget: keyFields.budget,
  rate: keyFields.rate,
  burst: keyFields.burst,
  tokensPerMinute: keyFields.tokensPerMinute,
  notEnforced: keyFields.notEnforced,
  models: keyFields.models,
} as const satisfies AccountFields;
export type IdentityLimits = AccountValues<typeof identityLimits>;
export type IdentityLimitsChange = AccountChange<typeof identityLimits>;

/** Bounds of the rules of an identity. Lengths are in characters. */
export const identityBounds = {
  maxIssuerLength: 512,
  maxAudienceLength: 256,
  /** Expressions in `match`, of which each token of the issuer may meet all. */
  maxMatch: 16,
  /** Of one CEL expression. */
  maxRuleLength: 1_000,
} as const;

/** The form of an issuer: an address without a query, because the address of its keys is derived from it. */
export const issuerPattern = /^(cluster|https:\/\/[^?#\s]+)$/;

/** `identity`: all its tokens share the limits. `subject`: each subject has them. */
export const identityShares = ['identity', 'subject'] as const;

/** Whose tokens an identity takes, and which workspace pays. */
export interface IdentityRules {
  /** Address of an OpenID Connect issuer, exactly as its tokens have it, or `cluster`. */
  readonly issuer: string;
  /** One of the audiences of a token. */
  readonly audience: string;
  /** CEL over `claims`. All must be true. */
  readonly match: readonly string[];
  /**
   * Name of the workspace that pays; or CEL over `claims` that gives it. An object lets claims name only the workspaces of its own
   * namespace: `prefix` comes before the claim, and is in the ledger what distinguishes the namespace.
   */
  readonly workspace: { readonly name: string } | { readonly claim: string; readonly prefix?: string | undefined };
  readonly each: (typeof identityShares)[number];
  /** CEL over `claims` by the name of the tag. A caller can neither leave these tags out nor replace them. */
  readonly tags: Readonly<Record<string, string>>;
  /** Ask the API server whether the token's ServiceAccount and pod still exist. */
  readonly isBound: boolean;
}

/** Joins tokens to a workspace: who may call without a key, and within which limits. */
export interface Identity extends IdentityRules, IdentityLimits {
  readonly id: string;
  /** For people and reports. Unique among those that are not revoked. */
  readonly name: string;
}

/** The account of an identity, or of one of its subjects, in a workspace. Its limits and its usage are those of a key. */
export interface IdentityAccount {
  readonly identityId: string;
  /** As `Identity.workspace` gives it. */
  readonly workspace: string;
  /** Undefined: all subjects share it. */
  readonly subject: string | undefined;
}

export interface TokenCaller {
  /** By which its account is found, in place of the hash of a key. */
  readonly hash: string;
  /** Tags of its requests, by name. They win over those of the header. */
  readonly tags: Readonly<Record<string, string>>;
}

/** Tokens in place of keys. */
export interface Tokens {
  readonly looksLikeToken: (text: string) => boolean;
  /**
   * The caller of a token; undefined: it lets nobody in. At once for a token that was seen before. Rejects with a `Failure` if it
   * cannot be known now.
   */
  readonly find: (token: string) => TokenCaller | Promise<TokenCaller | undefined>;
  /** The same for the claims of a token that a gateway in front has verified: JSON in base64url. */
  readonly findVerified: (claims: string) => TokenCaller | Promise<TokenCaller | undefined>;
  /** Refused tokens of the last ten minutes, or since the identities changed. */
  readonly refusals: () => readonly RefusedTokens[];
}

/**
 * Header with the claims that a trusted gateway in front has verified. Envoy drops a caller's own, and sets it from the header that
 * WEIR_TRUSTED_IDENTITY_HEADER names.
 */
export const verifiedClaimsHeader = 'x-weir-verified-claims';

/** Subjects of an identity that have an account of their own. Those beyond share one. */
export const maxSubjects = 500;
export const otherSubjects = 'other';

/** Why a token lets nobody in. For the log, metrics and problems; the caller gets one and the same answer. */
export const tokenFaults = [
  'malformed',
  'algorithm',
  'unknown-issuer',
  'issuer-away',
  'unknown-key',
  'signature',
  'expired',
  'not-yet-valid',
  'other-audience',
  'no-identity',
  'no-workspace',
  'not-bound',
] as const;
export type TokenFault = (typeof tokenFaults)[number];

/** Tokens that an issuer has signed, and that let nobody in lately, all for one fault. */
export interface RefusedTokens {
  /** `Identity.issuer` */
  readonly issuer: string;
  readonly fault: TokenFault;
  /** The value in the newest token, and the expected one. */
  readonly reason: string;
  readonly count: number;
}

/**
 * Says why no token of an identity can be verified now, as a reason and a message of a condition of its object. Undefined: they can
 * be, as far as that is known before the first one.
 */
export type CheckIdentity = (
  identity: Pick<Identity, 'name' | 'issuer' | 'audience' | 'isBound'>,
) => Promise<{ readonly reason: IdentityFault; readonly message: string } | undefined>;
export const identityFaults = ['IdentitiesOff', 'IssuerNotRead', 'TokenReviewRefused'] as const;
type IdentityFault = (typeof identityFaults)[number];
