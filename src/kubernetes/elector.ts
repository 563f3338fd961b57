import { type Clock, waitFor } from '../core/clock.ts';
import { isRefusal } from './api-error.ts';
import type { KubeClient } from './client.ts';
import { type Lease, leasesPath, microTime, readLease } from './leases.ts';
import { createSeenAlive } from './seen-alive.ts';

export interface ElectorOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  /** Of this process, and of no other one ever. */
  readonly identity: string;
  readonly clock: Clock;
  readonly random: () => number;
  /** It has begun or ceased to lead. */
  readonly onChange: (isLeading: boolean) => void;
  readonly onError: (error: unknown) => void;
}

export interface Elector {
  /** True while nobody else can lead. */
  readonly isLeading: () => boolean;
  /** Stops, and lets another one lead at once. */
  readonly close: () => Promise<void>;
}

const leaseName = 'weir-controller';
/** A leader that does not renew for so long has lost it. */
const durationSeconds = 10;
/** The leader gives up before the others may take over: its clock may be slow, and a request on its way late. */
const giveUpMs = 7_000;
const renewMs = 2_500;
const closeMs = 2_000;

/** Elects one replica of a namespace by a Lease, as Kubernetes' own controllers do. */
export function startElector(options: ElectorOptions): Elector {
  const { client, identity, clock, random } = options;
  const path = leasesPath(options.namespace);
  const over = new AbortController();
  const seen = createSeenAlive(clock);
  let renewedAt: number | undefined;
  let wasLeading = false;
  let trouble = '';

  const isLeading = (): boolean => renewedAt !== undefined && clock.elapsed() - renewedAt < giveUpMs;

  async function run(): Promise<void> {
    while (!over.signal.aborted) {
      const asked = clock.elapsed();
      try {
        renewedAt = (await acquire()) ? asked : undefined;
        trouble = '';
      } catch (error) {
        if (over.signal.aborted) return;
        const text = String(error);
        if (text !== trouble) options.onError(error);
        trouble = text;
      }
      tell();
      await waitFor(renewMs * (0.7 + random() * 0.3), { clock, signal: over.signal });
      tell();
    }
  }

  function tell(): void {
    if (isLeading() === wasLeading) return;
    wasLeading = !wasLeading;
    options.onChange(wasLeading);
  }

  /** Takes or renews the lease; whether it is ours now. Rejects when nobody knows. */
  async function acquire(): Promise<boolean> {
    try {
      const lease = await find();
      if (lease === undefined) {
        await client.call('POST', path, { body: bodyOf({ transitions: 0 }), signal: over.signal });
        return true;
      }
      const silentMs = seen.silentMs(lease);
      const isFree = lease.holder === '' || silentMs > lease.durationSeconds * 1000;
      if (lease.holder !== identity && !isFree) return false;
      await put(lease, lease.holder === identity ? lease.transitions : lease.transitions + 1);
      return true;
    } catch (error) {
      // Another one was faster.
      if (isRefusal(error, 409)) return false;
      throw error;
    }
  }

  async function find(): Promise<Lease | undefined> {
    try {
      return readLease(await client.call('GET', `${path}/${leaseName}`, { signal: over.signal }));
    } catch (error) {
      if (isRefusal(error, 404)) return undefined;
      throw error;
    }
  }

  function put({ resourceVersion }: Lease, transitions: number, holder = identity): Promise<unknown> {
    const body = bodyOf({ resourceVersion, transitions, holder });
    return client.call('PUT', `${path}/${leaseName}`, { body });
  }

  function bodyOf(lease: {
    readonly transitions: number;
    readonly resourceVersion?: string;
    readonly holder?: string;
  }): object {
    const { resourceVersion, transitions, holder = identity } = lease;
    const now = microTime(clock.now());
    return {
      ...{ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' },
      metadata: { name: leaseName, ...(resourceVersion === undefined ? {} : { resourceVersion }) },
      spec: {
        ...{ holderIdentity: holder, leaseTransitions: transitions, renewTime: now, acquireTime: now },
        leaseDurationSeconds: holder === '' ? 1 : durationSeconds,
      },
    };
  }

  async function release(): Promise<void> {
    const lease = readLease(await client.call('GET', `${path}/${leaseName}`));
    if (lease.holder === identity) await put(lease, lease.transitions, '');
  }

  const running = run();
  return {
    isLeading,
    close: async () => {
      const led = isLeading();
      over.abort();
      await running;
      renewedAt = undefined;
      tell();
      if (!led) return;
      const stop = new AbortController();
      // Who cannot reach the API server cannot release: the lease then runs out.
      await Promise.race([release().catch(() => undefined), waitFor(closeMs, { clock, signal: stop.signal })]);
      stop.abort();
    },
  };
}
