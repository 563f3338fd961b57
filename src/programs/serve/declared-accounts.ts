import type { AccountsParts } from '../../control/reconcilers/account-controller.ts';
import { folderNamespace } from '../../control/manifests/account-objects.ts';
import type { CheckIdentity } from '../../core/identity.ts';
import type { Settings } from '../../process/settings/settings.ts';
import { hashKey, keptPrefix, looksLikeKey, newKey } from '../../books/accounts/key-text.ts';
import type { DatabaseLocation } from '../../books/databases/database.ts';
import { declaredOperations } from '../../books/store/operation-names.ts';
import { openAccountsThread } from '../../books/store/accounts-thread.ts';

/** An operation is one transaction. A database that is down answers sooner. */
const silenceMs = 30_000;
const idleMs = 10 * 60_000;

/**
 * Opens the parts of the controller of accounts. The thread for its transactions starts with the first transaction. Undefined:
 * objects declare no accounts.
 */
export function openDeclaredAccounts(
  { WEIR_KUBERNETES_NAMESPACE: own, WEIR_ACCOUNT_NAMESPACES: others = [] }: Settings,
  location: DatabaseLocation,
  checkIdentity: CheckIdentity,
): { readonly parts: AccountsParts; readonly close: () => Promise<void> } | undefined {
  if (others === 'none') return undefined;
  const { store, close } = openAccountsThread(location, declaredOperations, {
    name: 'weir-accounts',
    silenceMs,
    idleMs,
  });
  const namespaces = own === undefined ? [folderNamespace] : [...new Set([own, ...others])];
  const keyTexts = { make: newKey, hash: hashKey, prefix: keptPrefix, isWellFormed: looksLikeKey };
  return { parts: { namespaces, store, keyTexts, checkIdentity, faulty: new Map() }, close };
}
