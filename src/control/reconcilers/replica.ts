import { isDeepStrictEqual } from 'node:util';
import { isRefusal, type KubeClient, sentenceOf } from '../kubernetes/client.ts';
import { startElector } from '../kubernetes/elector.ts';
import { createEvents } from '../kubernetes/events.ts';
import { createObjectWriter } from '../kubernetes/objects.ts';
import { createReplicaLeases } from '../kubernetes/replica-leases.ts';
import { type CancelTimer, type Clock, within } from '../../core/clock.ts';
import type { ObservedCatalog } from '../../core/observed-catalog.ts';
import type { PartLog } from '../../telemetry/ops/repeat-limit.ts';
import { type CompiledObjects, startController } from './controller.ts';
import type { AccountsParts } from './account-controller.ts';
import { openKubeAccounts } from './kube-accounts.ts';

/** The facts that a replica reports about itself. */
export interface ReplicaParts {
  /** Observes the catalog of this replica. */
  readonly observe: () => Promise<ObservedCatalog>;
  /** Absent: objects declare no accounts. */
  readonly accounts?: AccountsParts | undefined;
}

interface ReplicaOptions extends ReplicaParts {
  readonly client: KubeClient;
  readonly namespace: string;
  /** Name of this replica's pod. */
  readonly name: string;
  /** Unique to this process. After a restart it is another one. */
  readonly identity: string;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: PartLog;
  readonly latest: () => CompiledObjects | undefined;
}

/** One of the replicas that follow a namespace. */
export type Replica = ReturnType<typeof joinReplicas>;

const lookEveryMs = 2_000;
const closeMs = 5_000;

/** Publishes the observations of this replica to the others, and writes the status of the objects while this replica leads. */
export function joinReplicas(options: ReplicaOptions) {
  const { name, clock, log } = options;
  const fault =
    (what: string) =>
    (error: unknown): void =>
      log.warn({ error: sentenceOf(error) }, what);
  let own: ObservedCatalog | undefined;
  let cancelTimer: CancelTimer = () => undefined;
  let looking: Promise<void> | undefined;
  let closed = false;

  const leases = createReplicaLeases({ ...options, onError: fault('publishing replica observations failed') });
  const events = createEvents({ ...options, instance: name, onError: fault('writing an event failed') });
  const write = createObjectWriter(options.client, options.namespace);
  const elector = startElector({
    ...options,
    onChange: (isLeading) => {
      log.info({ name }, isLeading ? 'became leader' : 'lost leadership');
      controller.changed();
      accounts?.changed();
    },
    onError: fault('leader election failed'),
  });
  const controller = startController({
    clock,
    latest: options.latest,
    isLeading: elector.isLeading,
    replicas: async () => (own === undefined ? [] : [own, ...(await leases.others())]),
    write: { ...write, event: events.report, isGoneOrChanged: (error) => isRefusal(error, 404, 409) },
    onError: fault('writing an object status failed'),
  });

  const accounts =
    options.accounts && openKubeAccounts({ ...options, ...options.accounts, isLeading: elector.isLeading });

  async function lookOnce(): Promise<void> {
    const next = await options.observe();
    if (own === undefined || !isDeepStrictEqual(own, next)) {
      own = next;
      controller.changed();
    }
    await leases.publish(own);
  }

  function look(): void {
    cancelTimer();
    looking ??= lookOnce()
      .catch(fault('publishing replica observations failed'))
      .finally(() => {
        looking = undefined;
        if (!closed) cancelTimer = clock.after(lookEveryMs, look);
      });
  }

  look();
  return {
    /** The snapshot or the compilation has changed. */
    changed: (): void => {
      if (closed) return;
      look();
      controller.changed();
    },
    isLeading: elector.isLeading,
    /** Lets another replica lead at once. Waits 5 s at most for an API server that does not answer. */
    close: async (): Promise<void> => {
      closed = true;
      cancelTimer();
      await within(closeMs, clock, leave());
    },
  };

  async function leave(): Promise<void> {
    await looking;
    await Promise.all([controller.close(), accounts?.close()]);
    await events.close();
    await Promise.all([elector.close(), leases.close()]);
  }
}
