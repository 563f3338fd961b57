import type { V1Lease } from '@kubernetes/client-node';
import { type Clock, waitFor, within } from '../../core/clock.ts';
import { abortedBy, isRefusal, type KubeClient } from './client.ts';
import { durationMsOf, holderOf, microTime, watchRenewals } from './leases.ts';

export interface ElectorOptions {
  readonly client: Pick<KubeClient, 'leases'>;
  readonly namespace: string;
  /** Unique to this process. After a restart it is another one. */
  readonly identity: string;
  readonly clock: Clock;
  readonly random: () => number;
  /** Called when this replica begins or ceases to lead. */
  readonly onChange: (isLeading: boolean) => void;
  readonly onError: (error: unknown) => void;
}

export type Elector = ReturnType<typeof startElector>;

const leaseName = 'weir-controller';
/** A leader that does not renew the lease for this time loses it. */
const durationSeconds = 10;
/** The leader gives up before the others may take over, because its clock may be slow and its requests may arrive late. */
const giveUpMs = 7_000;
const renewMs = 2_500;
const closeMs = 2_000;

/** Elects one replica of a namespace by a Lease, like Kubernetes' own controllers. */
export function startElector(options: ElectorOptions) {
  const { clock, random } = options;
  const over = new AbortController();
  const lease = openLease(options, over.signal);
  let renewedAt: number | undefined;
  let wasLeading = false;
  let lastError = '';

  const isLeading = (): boolean => renewedAt !== undefined && clock.elapsed() - renewedAt < giveUpMs;

  async function run(): Promise<void> {
    while (!over.signal.aborted) {
      const asked = clock.elapsed();
      try {
        renewedAt = (await lease.acquire(asked)) ? asked : undefined;
        lastError = '';
      } catch (error) {
        if (over.signal.aborted) return;
        const text = String(error);
        if (text !== lastError) options.onError(error);
        lastError = text;
      }
      reportChange();
      await waitFor(renewMs * (0.7 + random() * 0.3), { clock, signal: over.signal });
      reportChange();
    }
  }

  function reportChange(): void {
    if (isLeading() === wasLeading) return;
    wasLeading = !wasLeading;
    options.onChange(wasLeading);
  }

  const running = run();
  return {
    /** True while no other replica can lead. */
    isLeading,
    /** Stops, and lets another replica lead at once. */
    close: async (): Promise<void> => {
      const led = isLeading();
      over.abort();
      await running;
      renewedAt = undefined;
      reportChange();
      if (!led) return;
      // If the API server does not answer, the lease cannot be released and runs out by itself.
      await within(closeMs, clock, lease.release()).catch(() => undefined);
    },
  };
}

/** The lease, as this replica takes, renews and releases it. */
function openLease({ client, namespace, identity, clock }: ElectorOptions, signal: AbortSignal) {
  const { leases } = client;
  const abortable = abortedBy(signal);
  const renewals = watchRenewals(clock);

  /**
   * Takes or renews the lease. Returns whether this replica holds the lease now; rejects when that is unknown. `asked`:
   * the current time.
   */
  async function acquire(asked: number): Promise<boolean> {
    try {
      const lease = await find();
      if (lease === undefined) {
        await leases.createNamespacedLease({ namespace, body: leaseOf({ transitions: 0 }) }, abortable);
        return true;
      }
      const holder = holderOf(lease);
      const isFree = renewals.silentMs(lease, asked) > durationMsOf(lease) || holder === '';
      if (holder !== identity && !isFree) return false;
      const transitions = lease.spec?.leaseTransitions ?? 0;
      await replace(lease, { transitions: holder === identity ? transitions : transitions + 1 });
      return true;
    } catch (error) {
      // Another replica was faster.
      if (isRefusal(error, 409)) return false;
      throw error;
    }
  }

  async function find(): Promise<V1Lease | undefined> {
    try {
      return await leases.readNamespacedLease({ namespace, name: leaseName }, abortable);
    } catch (error) {
      if (isRefusal(error, 404)) return undefined;
      throw error;
    }
  }

  function replace(
    { metadata }: V1Lease,
    wanted: { readonly transitions: number; readonly holder?: string },
  ): Promise<V1Lease> {
    const body = leaseOf({ ...wanted, resourceVersion: metadata?.resourceVersion });
    return leases.replaceNamespacedLease({ namespace, name: leaseName, body });
  }

  function leaseOf(wanted: {
    readonly transitions: number;
    readonly resourceVersion?: string | undefined;
    readonly holder?: string;
  }): V1Lease {
    const { resourceVersion, transitions, holder = identity } = wanted;
    const now = microTime(clock.now());
    return {
      metadata: { name: leaseName, ...(resourceVersion === undefined ? {} : { resourceVersion }) },
      spec: {
        holderIdentity: holder,
        leaseTransitions: transitions,
        renewTime: now,
        acquireTime: now,
        leaseDurationSeconds: holder === '' ? 1 : durationSeconds,
      },
    };
  }

  async function release(): Promise<void> {
    const lease = await leases.readNamespacedLease({ namespace, name: leaseName });
    const transitions = lease.spec?.leaseTransitions ?? 0;
    if (holderOf(lease) === identity) await replace(lease, { transitions, holder: '' });
  }

  return { acquire, release };
}
