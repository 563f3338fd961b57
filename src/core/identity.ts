import type { AccountValues } from './account-field.ts';
import type { KeyFields } from './account.ts';

/** The value of `Identity.issuer` for the API server of the own cluster, which also answers TokenReviews. */
export const clusterIssuer = 'cluster';

/**
 * Joins tokens of an issuer to a workspace: who may call without a key, and within which limits. The limits are those of a key;
 * each account of an identity has a row of its own among the keys.
 */
export interface Identity extends Pick<AccountValues<KeyFields>, 'budget' | 'rate' | 'burst' | 'models' | 'status'> {
  readonly id: string;
  /** For people and reports; unique. */
  readonly name: string;
  /** Address of an OpenID Connect issuer, exactly as its tokens have it, or `cluster`. */
  readonly issuer: string;
  /** One of the audiences of the token. */
  readonly audience: string;
  /** CEL over `claims`. All must be true. */
  readonly match: readonly string[];
  /** Id of the workspace that pays, or CEL over `claims` that gives its name. */
  readonly workspace: { readonly id: string } | { readonly claim: string };
  /** Whether all its tokens share the limits, or each subject has them. */
  readonly each: 'identity' | 'subject';
  /** CEL over `claims` by the name of the tag. A caller can neither leave these tags out nor replace them. */
  readonly tags: Readonly<Record<string, string>>;
  /** Ask the API server whether the token's ServiceAccount and pod still exist. */
  readonly isBound: boolean;
}

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
  'suspended',
] as const;
export type TokenFault = (typeof tokenFaults)[number];
