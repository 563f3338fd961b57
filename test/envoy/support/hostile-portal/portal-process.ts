import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { digestOf, newToken } from '../../../../src/portal/secrets.ts';
import { openAccounts } from '../../../../src/books/store/open-accounts.ts';
import { compileCache, inheritedEnvironment } from '../../../support/program-environment.ts';
import type { PortalTarget, SignedIn } from './portal-target.ts';

/** A portal in a process and on a folder of its own. */
export interface PortalProcess {
  readonly pid: number;
  readonly target: PortalTarget;
  /** The text of `/metrics`; undefined while the portal does not answer. */
  readonly metrics: () => Promise<string | undefined>;
  readonly close: () => Promise<void>;
}

/** Starts a portal without services behind it, and signs so many members in. */
export async function startPortalProcess(
  neighbours: number,
  env: Readonly<Record<string, string>> = {},
): Promise<PortalProcess> {
  const data = mkdtempSync(join(tmpdir(), 'weir-hostile-portal-'));
  const members = await signMembersIn(join(data, 'weir.db'), neighbours + 1);
  const [attacker, ...others] = members;
  if (attacker === undefined) throw new Error('no member is signed in');
  const child = fork(fileURLToPath(new URL('./portal-program.ts', import.meta.url)), {
    env: {
      ...{ ...inheritedEnvironment(), ...compileCache },
      ...{ WEIR_SERVICES: 'http://127.0.0.1:1', WEIR_DATA: data, WEIR_ADMIN_PORT: '0' },
      ...env,
    },
  });
  const exited = once(child, 'exit');
  const port = await Promise.race([
    once(child, 'message').then(([message]) => Number(message)),
    exited.then(() => Promise.reject(new Error('the portal did not start'))),
  ]);
  const adminToken = readFileSync(join(data, 'admin-token'), 'utf8').trim();
  return {
    pid: child.pid ?? 0,
    target: { port, adminToken, attacker, neighbours: others },
    metrics: () =>
      fetch(`http://127.0.0.1:${port}/metrics`, { headers: { authorization: `Bearer ${adminToken}` } }).then(
        (answer) => answer.text(),
        () => undefined,
      ),
    close: async () => {
      if (child.connected) child.disconnect();
      await exited;
      rmSync(data, { recursive: true, force: true });
    },
  };
}

/** Makes workspaces with a member each, and the members' sessions as an identity provider's sign-in leaves them. */
async function signMembersIn(file: string, count: number): Promise<readonly SignedIn[]> {
  const accounts = await openAccounts({ kind: 'sqlite', file }, { missing: 'create', user: 'operator' });
  try {
    const members: SignedIn[] = [];
    for (let number = 0; number < count; number += 1) {
      const now = Date.now();
      const workspace = `member-${number}`;
      const by = { actor: { kind: 'command-line', name: 'hostile' }, now } as const;
      const { id } = await accounts.createWorkspace({ name: workspace, credit: 10n ** 12n, maxInFlight: 8 }, by);
      const secret = newToken();
      await accounts.createSession({
        ...{
          hash: digestOf(secret),
          role: 'member',
          name: workspace,
          ...{ groupRoles: new Map([[id, 'owner']]), address: undefined },
          keyId: undefined,
        },
        ...{ csrfToken: newToken(), credential: workspace, logOutHint: undefined },
        ...{ createdAt: now, expiresAt: now + 12 * 3_600_000 },
      });
      members.push({ workspace, cookie: `weir_session=${secret}` });
    }
    return members;
  } finally {
    await accounts.close();
  }
}
