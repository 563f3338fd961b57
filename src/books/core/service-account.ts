import type { Scope } from './rights.ts';

/** The beginning of each token. Other texts are not looked up, so the admin token works while the database is down. */
export const tokenPrefix = 'weir-sa-';

/** A script that calls the admin API: its name, and its token with scopes. */
export interface ServiceAccount {
  readonly id: string;
  /** Unique among accounts that are not revoked. The audit trail has it. */
  readonly name: string;
  /** The first characters of the token. */
  readonly prefix: string;
  readonly scopes: readonly Scope[];
  /** Ids of workspaces; undefined: all, also those of later. */
  readonly workspaces: readonly string[] | undefined;
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly revokedAt: number | undefined;
  /** To the minute. */
  readonly lastUsedAt: number | undefined;
}

export interface NewServiceAccount {
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** Names or ids of workspaces; undefined: all. */
  readonly workspaces: readonly string[] | undefined;
  readonly expiresAt: number;
}

export const serviceAccountStates = ['active', 'expired', 'revoked'] as const;

/** Whether the token of a service account works. */
export function stateOfAccount(
  { revokedAt, expiresAt }: Pick<ServiceAccount, 'revokedAt' | 'expiresAt'>,
  now: number,
): (typeof serviceAccountStates)[number] {
  if (revokedAt !== undefined) return 'revoked';
  return expiresAt <= now ? 'expired' : 'active';
}
