import { join } from 'node:path';
import type { BrowserContext } from 'playwright-core';
import { inject } from 'vitest';
import type { WorkspaceRole } from '../../../src/books/core/rights.ts';
import { digestOf, newToken } from '../../../src/portal/secrets.ts';
import { openAccounts } from '../../../src/books/store/open-accounts.ts';

interface Person {
  /** A verified address, by which invitations go. */
  readonly address: string;
  /** Roles by the names of workspaces, as groups of the identity provider give them. */
  readonly groups?: Readonly<Record<string, WorkspaceRole>>;
}

/** Begins a session as a sign-in with an identity provider would begin it. */
export async function signInAs(context: BrowserContext, { address, groups = {} }: Person): Promise<void> {
  const { data, portal } = inject('gateway');
  await using stack = new AsyncDisposableStack();
  const accounts = await openAccounts(
    { kind: 'sqlite', file: join(data, 'weir.db') },
    { missing: 'refuse', user: 'operator' },
  );
  stack.defer(accounts.close);
  const groupRoles = new Map<string, WorkspaceRole>();
  for (const [name, role] of Object.entries(groups)) groupRoles.set((await accounts.findWorkspace(name)).id, role);
  const [secret, now] = [newToken(), Date.now()];
  const session = await accounts.createSession({
    ...{ hash: digestOf(secret), role: 'member', name: address, address, groupRoles, keyId: undefined },
    ...{ csrfToken: newToken(), credential: `subject of ${address}`, logOutHint: undefined },
    ...{ createdAt: now, expiresAt: now + 3_600_000 },
  });
  if (session === undefined) throw new Error(`${address} was not signed in`);
  await context.addCookies([{ name: 'weir_session', value: secret, url: portal }]);
}
