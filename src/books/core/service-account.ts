import type { AccountFields, AccountValues } from '../../core/account-field.ts';
import type { Scope } from './rights.ts';

/** The beginning of each token. Other texts are not looked up, so the admin token works while the database is down. */
export const tokenPrefix = 'weir-sa-';

export const serviceAccountFields = {
  id: { name: 'id', kind: 'text', example: 'sa_ef2d127de37b942baad0' },
  /** Unique among accounts that are not revoked. */
  name: { name: 'name', kind: 'text', about: 'The audit trail has it.', example: 'chargeback' },
  prefix: { name: 'prefix', kind: 'text', about: 'First characters of its token.', example: 'weir-sa-3vKq' },
  createdAt: { name: 'created_at', kind: 'moment' },
  expiresAt: { name: 'expires_at', kind: 'moment' },
  lastUsedAt: {
    name: 'last_used_at',
    kind: 'moment',
    optional: true,
    shown: 'Its last call, to the minute; null: there was none.',
  },
} as const satisfies AccountFields;

/** A script that calls the admin API: its name, and its token with scopes. */
export interface ServiceAccount extends AccountValues<typeof serviceAccountFields> {
  readonly scopes: readonly Scope[];
  /** Ids of workspaces; undefined: all, also those of later. */
  readonly workspaces: readonly string[] | undefined;
  readonly revokedAt: number | undefined;
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
