import { type Clock, every } from '../../core/clock.ts';
import { type DependencyFailure, dependencyFailure } from '../../core/dependency-cause.ts';
import type { Subscription, ValkeyClient } from './valkey-client.ts';
import { heartbeatScript, leaveScript } from './valkey-scripts.ts';

export interface ValkeyLinkOptions {
  readonly clock: Clock;
  /** Makes a name of letters and digits that no other process has. */
  readonly newId: () => string;
  /** How many replicas to assume until the server has answered with their number. Default 1. */
  readonly expectedReplicas?: number;
  /** How long to wait for one answer, milliseconds; a request may wait that long in vain. Default 50. */
  readonly timeoutMs?: number;
  /**
   * Called when the server can be asked under a new name. From then on, what the server knows of this process under the
   * old name is void.
   */
  readonly onUp: () => void;
  readonly onDown: () => void;
}

type Reply = { readonly kind: 'reply'; readonly value: unknown } | { readonly kind: 'none' };

/**
 * The link to one server: to the only server, or to the server of a cluster that has the keys of one hash tag. The link
 * counts as down as soon as the server does not answer in time, and recovers by itself.
 */
export type ValkeyLink = ReturnType<typeof createValkeyLink>;

/** After this many late answers in a row the connection counts as down. */
const tolerated = 3;
const heartbeatMs = 1_000;
/** A replica without a heartbeat for this time counts as dead. */
const leaseMs = 3_000;

interface LinkState extends Pick<ValkeyLinkOptions, 'clock' | 'newId' | 'onUp' | 'onDown'> {
  readonly client: ValkeyClient;
  readonly replicasKey: string;
  readonly timeoutMs: number;
  name: string;
  replicas: number;
  misses: number;
  late: number;
  state: 'down' | 'up' | 'closed';
  isToldDown: boolean;
  /** The server has refused the last heartbeat. */
  isRefused: boolean;
  /** The last error that says most. Undefined: there was none since it was up, or it was silent. */
  failure: DependencyFailure | undefined;
  /** Subscriptions to channels without a right to them. */
  readonly polled: Set<Subscription>;
}

/** `tag`: the hash tag of the keys in a cluster. Undefined: one server has all keys. */
export function createValkeyLink(
  client: ValkeyClient,
  tag: string | undefined,
  { clock, newId, onUp, onDown, expectedReplicas = 1, timeoutMs = 50 }: ValkeyLinkOptions,
) {
  const key = (name: string): string => (tag === undefined ? `weir:${name}` : `weir:{${tag}}:${name}`);
  const link: LinkState = {
    clock,
    newId,
    onUp,
    onDown,
    client,
    replicasKey: key('replicas'),
    timeoutMs,
    name: newId(),
    replicas: expectedReplicas,
    misses: 0,
    late: 0,
    state: 'down',
    isToldDown: false,
    isRefused: false,
    failure: undefined,
    polled: new Set(),
  };
  client.listen({
    ready: () => void heartbeat(link),
    closed: () => down(link),
    failed: (error) => failed(link, error),
  });
  beat(link);
  const cancelBeat = every(clock, heartbeatMs, () => beat(link));
  return {
    isUp: (): boolean => link.state === 'up',
    /** Why it is down; undefined: it is up. */
    failure: (): DependencyFailure | undefined => (link.state === 'up' ? undefined : (link.failure ?? silence)),
    /** The name of a key on this link's server. */
    key,
    /** Name of this process at the server. A new one after every break of the connection. */
    name: (): string => link.name,
    /** Replicas alive when the server last answered, this one included; the expected number until it has answered once. */
    replicas: (): number => link.replicas,
    /** Number of answers that did not come in time, since the start. */
    late: (): number => link.late,
    /** Runs a script, once. Rejects if the server or the connection fails. Can take as long as the server takes. */
    run: client.run,
    /** The server's reply, or `none` when it does not come in time. Never rejects. */
    inTime: (reply: Promise<unknown>): Promise<Reply> => inTime(link, reply),
    /** Continues under a new name. For use after an error, if it is not certain what the server knows of this process. */
    drop: (): void => drop(link),
    /**
     * Calls `take` with every message of a channel, and `listening` whenever messages may have been missed: at the start
     * and after every interruption of the subscription or the connection. If the server gives no right to the channel,
     * `listening` is called every second, so that what is read there reaches this process nevertheless.
     */
    subscribe: (channel: string, subscription: Subscription): void =>
      client.subscribe(channel, {
        take: subscription.take,
        listening: () => {
          link.polled.delete(subscription);
          subscription.listening();
        },
        refused: () => link.polled.add(subscription),
      }),
    /** Removes this process from the replicas. Does not close the client. */
    close: async (): Promise<void> => {
      cancelBeat();
      const wasUp = link.state === 'up';
      link.state = 'closed';
      // The lease would expire by itself. Removing it gives the other replicas this replica's share at once.
      if (wasUp) await inTime(link, client.run(leaveScript, [link.replicasKey], [link.name]));
    },
  };
}

const silence: DependencyFailure = { cause: 'silent', reason: '' };

/** After an error that names the cause, the client reports others that only say that there is no connection. */
const vague: ReadonlySet<string> = new Set(['failed', 'breaks-off']);

function failed(link: LinkState, error: unknown): void {
  const failure = dependencyFailure(error);
  if (link.failure === undefined || !vague.has(failure.cause) || vague.has(link.failure.cause)) link.failure = failure;
}

function down(link: LinkState): void {
  link.misses = 0;
  if (link.state === 'up') link.state = 'down';
  if (link.state === 'closed' || link.isToldDown) return;
  link.isToldDown = true;
  link.onDown();
}

function drop(link: LinkState): void {
  down(link);
  if (link.state !== 'closed') link.client.reconnect();
}

function inTime(link: LinkState, reply: Promise<unknown>): Promise<Reply> {
  return new Promise((resolve) => {
    const stop = link.clock.after(link.timeoutMs, () => {
      resolve({ kind: 'none' });
      link.late += 1;
      link.misses += 1;
      if (link.misses < tolerated) return;
      link.failure = undefined;
      drop(link);
    });
    reply.then(
      (value) => {
        stop();
        link.misses = 0;
        resolve({ kind: 'reply', value });
      },
      () => {
        stop();
        resolve({ kind: 'none' });
      },
    );
  });
}

/** Reports to the server that this process is alive. Uses a new name if the server has declared this process dead. */
async function heartbeat(link: LinkState): Promise<void> {
  const before = link.state === 'up' ? '' : link.name;
  if (link.state === 'down') link.name = link.newId();
  const called = link.name;
  const reply = link.client.run(heartbeatScript, [link.replicasKey], [called, String(leaseMs), before]);
  // One server of a cluster is gone: the connections to the others stay, so there is no event for it.
  reply.catch((error: unknown) => {
    // The reason of a connection that has ended is known already.
    if (link.client.isReady()) failed(link, error);
    if (link.state === 'up') drop(link);
    else link.isRefused = true;
  });
  const answer = await inTime(link, reply);
  if (answer.kind === 'none' || !Array.isArray(answer.value) || called !== link.name || link.state === 'closed') return;
  const [wasAlive, alive]: readonly unknown[] = answer.value;
  if (typeof alive === 'number') link.replicas = Math.max(1, alive);
  if (link.state === 'up' && wasAlive === 1) return;
  if (link.state === 'up') {
    // This process was silent for longer than its lease: others may have dropped its requests under way.
    down(link);
    await heartbeat(link);
    return;
  }
  link.state = 'up';
  link.failure = undefined;
  link.isToldDown = false;
  link.onUp();
}

function beat(link: LinkState): void {
  if (!link.client.isReady()) return;
  if (link.state === 'up') for (const { listening } of link.polled) listening();
  if (link.state === 'up' || !link.isRefused) {
    void heartbeat(link);
    return;
  }
  // A connection to a server that lost its role or its login stays open, and the address may have another server by now.
  link.isRefused = false;
  link.client.reconnect();
}
