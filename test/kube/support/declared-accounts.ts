import { systemClock } from '../../../src/process/clock.ts';
import type { CheckIdentity } from '../../../src/core/identity.ts';
import { openTestLedger } from '../../support/test-ledger.ts';
import type { KubeConnection } from './api-server.ts';
import { makeNamespace } from './cluster.ts';
import { objectsIn } from './objects.ts';
import { startTestReplica } from './replica.ts';

export type DeclaredAccounts = Awaited<ReturnType<typeof startDeclaredAccounts>>;

/**
 * Makes a namespace whose objects declare accounts, with a ledger of its own, and starts a replica that follows them.
 * `offsetMs`: how far the replica's clock is ahead at the moment.
 */
export async function startDeclaredAccounts(kubernetes: KubeConnection, offsetMs: () => number, check?: CheckIdentity) {
  const namespace = await makeNamespace(kubernetes);
  const ledger = await openTestLedger();
  const clock = { ...systemClock, now: () => systemClock.now() + offsetMs() };
  const { kubeconfig } = kubernetes;
  const replica = await startTestReplica({ kubeconfig, namespace, clock, accounts: { data: ledger.data, check } });
  const close = async (): Promise<void> => {
    await replica.close();
    await ledger.close();
  };
  return { namespace, cluster: objectsIn(kubernetes, namespace), ledger, replica, close };
}
