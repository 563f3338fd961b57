/** What the reconciliations of the kinds of accounts share. */
import type { Condition } from '../catalog/resources/status.ts';
import type { Authorship } from '../../books/core/administration.ts';
import type { Clock } from '../../core/clock.ts';
import type { AccountObject, Declarer } from '../../books/core/declared-account.ts';
import type { FollowedAccounts } from '../kubernetes/follow-accounts.ts';
import type { CheckIdentity } from '../../core/identity.ts';
import type { KeySecrets } from '../core/key-secrets.ts';
import { notAccepted, type Reconciled } from './account-status.ts';
import type { DeclaredAccounts } from './store-port.ts';

/** How the texts of keys are made and read. The controller never logs one. */
export interface KeyTexts {
  readonly make: () => string;
  readonly hash: (text: string) => string;
  readonly prefix: (text: string) => string;
  readonly isWellFormed: (text: string) => boolean;
}

/** The means of a reconciliation. */
export interface ReconcileParts {
  readonly clock: Clock;
  readonly accounts: DeclaredAccounts;
  readonly secrets: KeySecrets;
  readonly keyTexts: KeyTexts;
  readonly checkIdentity: CheckIdentity;
  readonly isLeading: () => boolean;
  readonly find: FollowedAccounts['find'];
  readonly authorOf: (object: AccountObject) => { readonly declarer: Declarer; readonly by: Authorship };
  readonly ledgerName: (object: AccountObject) => string;
  /** Gives the object the finalizer, so that it cannot go without the controller. */
  readonly hold: (object: AccountObject) => Promise<void>;
  readonly release: (object: AccountObject) => Promise<void>;
  /** A condition as it was written last. */
  readonly said: (object: AccountObject, type: string) => Condition | undefined;
}

/** The workspace in the ledger that pays for an object: that of a Workspace of the object's own namespace, and no other. */
export async function findPayer(
  object: AccountObject,
  name: string,
  { find, accounts }: ReconcileParts,
): Promise<{ readonly id: string } | { readonly refused: Reconciled }> {
  const { kind, namespace } = object;
  const refused = (reason: string, message: string) =>
    ({ refused: notAccepted(kind, { reason, message: `spec.workspace: ${message}`, next: 'again' }) }) as const;
  const declared = find('Workspace', { namespace, name });
  if (declared === undefined) {
    return refused(
      'WorkspaceNotFound',
      `expected a Workspace in namespace "${namespace}", there is none named "${name}"`,
    );
  }
  if (declared.deletedAt !== undefined) return refused('WorkspaceLeaves', `Workspace "${name}" is being deleted`);
  const workspace = await accounts.declaredWorkspace({ namespace, name });
  return workspace ?? refused('WorkspaceNotReady', `Workspace "${name}" is not in the ledger`);
}
