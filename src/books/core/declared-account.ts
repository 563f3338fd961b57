import type { DeclaredValues } from '../../core/account-field.ts';
import type { KeyFields, WorkspaceFields } from '../../core/account.ts';
import type { CreditRecord } from './administration.ts';
import type { KubeObject } from '../../core/catalog.ts';
import type { Money } from '../../core/money.ts';

// Accounts that objects of Kubernetes or of a manifest folder declare.

export const accountKinds = ['Workspace', 'ApiKey', 'Credit', 'Identity'] as const;
export type AccountKind = (typeof accountKinds)[number];

/** An object of a cluster, or of a manifest folder in the form of a cluster's object. */
export interface AccountObject extends KubeObject<AccountKind> {
  readonly namespace: string;
}

/** Identifies an object. Its uid does not count: an object that was restored or made again is the same one. */
export interface AccountObjectName {
  readonly namespace: string;
  readonly name: string;
}

/** Which object declares an account. */
export interface Declaration extends AccountObjectName {
  readonly kind: AccountKind;
  /** Whether only the object can change the account. */
  readonly isLocked: boolean;
}

/** An object that declares an account, and whether commands and the admin API may change the account, too. */
export interface Declarer extends AccountObjectName {
  /** False (`weir.dev/managed: "false"`): an account that exists stays as it is. */
  readonly isManaging: boolean;
}

/** Thresholds that are undefined are the default. */
export interface DeclaredWorkspace extends DeclaredValues<WorkspaceFields> {
  /** Name in the ledger. */
  readonly ledgerName: string;
}

export interface DeclaredKey extends DeclaredValues<KeyFields> {
  /** SHA-256 of the text of the key, and the first characters of the text. */
  readonly hash: string;
  readonly prefix: string;
  readonly workspaceId: string;
}

/** `left`: the object may go. Its workspace is suspended and keeps its ledger. `has-keys`: it may not. */
export type WorkspaceLeaving = { readonly kind: 'left' } | { readonly kind: 'has-keys'; readonly keys: number };

export type KeyDeclared =
  | {
      readonly kind: 'declared';
      readonly id: string;
      readonly prefix: string | undefined;
      /** In the ledger. Others may suspend a key that its object does not manage. */
      readonly isSuspended: boolean;
      /** Its status is not the one that the object declares. */
      readonly isOverridden: boolean;
      /** When it got its text. */
      readonly since: number;
      /** The key that was in the Secret before, while it still works. */
      readonly previous: { readonly prefix: string | undefined; readonly expiresAt: number } | undefined;
      readonly isNew: boolean;
      /** Whether another key was replaced by this one. */
      readonly hasReplaced: boolean;
    }
  /** A key that was revoked or replaced is never accepted again. */
  | { readonly kind: 'ended' }
  /** Another workspace, or another object, has this key. */
  | { readonly kind: 'taken' };

export type CreditBooked =
  | { readonly kind: 'booked'; readonly credit: CreditRecord; readonly isNew: boolean }
  /** The object was booked before with other values, which stay. */
  | { readonly kind: 'booked-otherwise'; readonly credit: CreditRecord; readonly workspaceName: string }
  /** An object of another name was booked with the same amount and note. */
  | { readonly kind: 'booked-as'; readonly name: string; readonly credit: CreditRecord };

/** The figures of a workspace that its object shows. */
export interface WorkspaceFigures {
  readonly balance: Money;
  readonly spentThisMonth: Money;
  readonly keys: number;
}

/** The figures of a key that its object shows. */
export interface KeyFigures {
  readonly lastUsedAt: number | undefined;
  /** Spent in the current period of the budget. */
  readonly spent: Money;
}

export interface AccountFigures {
  readonly workspaces: ReadonlyMap<string, WorkspaceFigures>;
  readonly keys: ReadonlyMap<string, KeyFigures>;
}
