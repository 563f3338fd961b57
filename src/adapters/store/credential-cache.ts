import type { Credential, Key, Workspace } from '../../core/account.ts';
import type { Money } from '../../core/money.ts';

export interface CredentialCache {
  /** `absent` when there is known to be no such key; undefined when nothing is known. */
  readonly get: (hash: string) => Credential | 'absent' | undefined;
  readonly put: (hash: string, credential: Credential | undefined) => void;
  /** A settlement of ours has changed the balance. */
  readonly setBalance: (workspaceId: string, balance: Money) => void;
  /** Forgets everything, because another process has changed something. */
  readonly clear: () => void;
}

/**
 * Remembers what was found for the hashes of keys, and what was not: strangers who try keys push out only the memory of other
 * strangers, never that of a customer. Holds at most `limit` of each; the oldest goes first.
 */
export function createCredentialCache(limit: number): CredentialCache {
  const keys = new Map<string, Key>();
  const absent = new Map<string, true>();
  const workspaces = new Map<string, Workspace>();

  /** A Map keeps the order of insertion: its first entry is its oldest. */
  function remember<Value>(entries: Map<string, Value>, name: string, value: Value): void {
    entries.delete(name);
    const [oldest] = entries.size < limit ? [] : entries.keys();
    if (oldest !== undefined) entries.delete(oldest);
    entries.set(name, value);
  }

  return {
    get: (hash) => {
      const key = keys.get(hash);
      if (!key) return absent.has(hash) ? 'absent' : undefined;
      const workspace = workspaces.get(key.workspaceId);
      return workspace && { key, workspace };
    },
    put: (hash, credential) => {
      if (!credential) {
        remember(absent, hash, true);
        return;
      }
      const { key, workspace } = credential;
      remember(keys, hash, key);
      remember(workspaces, workspace.id, workspace);
    },
    setBalance: (workspaceId, balance) => {
      const workspace = workspaces.get(workspaceId);
      if (workspace) workspaces.set(workspaceId, { ...workspace, balance });
    },
    clear: () => {
      keys.clear();
      absent.clear();
      workspaces.clear();
    },
  };
}
