import type { Credential, Key, Workspace } from '../../src/core/account.ts';
import type { Money } from '../../src/core/money.ts';

/** A credential that may do everything, to change one thing in. */
export function credentialOf(
  fields: { readonly key?: Partial<Key>; readonly workspace?: Partial<Workspace>; readonly spent?: Money } = {},
): Credential {
  return {
    key: { id: 'key-1', workspaceId: 'ws-1', status: 'active', rate: 100, burst: 200, ...fields.key },
    workspace: {
      ...{ id: 'ws-1', name: 'acme', status: 'active', balance: 1_000_000_000_000n, maxInFlight: 256 },
      ...fields.workspace,
    } as const,
    spent: fields.spent ?? 0n,
  };
}
