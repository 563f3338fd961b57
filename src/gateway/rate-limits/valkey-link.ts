import { type Clock, every } from '../../core/clock.ts';
import type { Subscription, ValkeyClient } from './valkey-client.ts';
import { heartbeatScript, leaveScript, type Script } from './valkey-scripts.ts';

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
export interface ValkeyLink {
  readonly isUp: () => boolean;
  /** The name of a key on this link's server. */
  readonly key: (name: string) => string;
  /** Name of this process at the server. A new one after every break of the connection. */
  readonly name: () => string;
  /** Replicas alive when the server last answered, this one included; the expected number until it has answered once. */
  readonly replicas: () => number;
  /** Number of answers that did not come in time, since the start. */
  readonly late: () => number;
  /** Runs a script, once. Rejects if the server or the connection fails. Can take as long as the server takes. */
  readonly run: (script: Script, keys: readonly string[], args: readonly string[]) => Promise<unknown>;
  /** The server's reply, or `none` when it does not come in time. Never rejects. */
  readonly inTime: (reply: Promise<unknown>) => Promise<Reply>;
  /** Continues under a new name. For use after an error, if it is not certain what the server knows of this process. */
  readonly drop: () => void;
  /**
   * Calls `take` with every message of a channel, and `listening` whenever messages may have been missed: at the start
   * and after every interruption, as soon as both the subscription and the connection are ready.
   */
  readonly subscribe: (channel: string, subscription: Subscription) => void;
  /** Removes this process from the replicas. Does not close the client. */
  readonly close: () => Promise<void>;
}

/** After this many late answers in a row the connection counts as down. */
const tolerated = 3;
const heartbeatMs = 1_000;
/** A replica without a heartbeat for this time counts as dead. */
const leaseMs = 3_000;

/** `tag`: the hash tag of the keys in a cluster. Undefined: one server has all keys. */
export function createValkeyLink(
  client: ValkeyClient,
  tag: string | undefined,
  options: ValkeyLinkOptions,
): ValkeyLink {
  const { clock, newId, timeoutMs = 50 } = options;
  const key = (name: string): string => (tag === undefined ? `weir:${name}` : `weir:{${tag}}:${name}`);
  const replicasKey = key('replicas');
  let name = newId();
  let replicas = options.expectedReplicas ?? 1;
  let misses = 0;
  let late = 0;
  let state: 'down' | 'up' | 'closed' = 'down';
  let isToldDown = false;
  /** The server has refused the last heartbeat. */
  let isRefused = false;

  function down(): void {
    misses = 0;
    if (state === 'up') state = 'down';
    if (state === 'closed' || isToldDown) return;
    isToldDown = true;
    options.onDown();
  }

  function drop(): void {
    down();
    if (state !== 'closed') client.reconnect();
  }

  function inTime(reply: Promise<unknown>): Promise<Reply> {
    return new Promise((resolve) => {
      const stop = clock.after(timeoutMs, () => {
        resolve({ kind: 'none' });
        late += 1;
        misses += 1;
        if (misses >= tolerated) drop();
      });
      reply.then(
        (value) => {
          stop();
          misses = 0;
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
  async function heartbeat(): Promise<void> {
    const before = state === 'up' ? '' : name;
    if (state === 'down') name = newId();
    const called = name;
    const reply = client.run(heartbeatScript, [replicasKey], [called, String(leaseMs), before]);
    // One server of a cluster is gone: the connections to the others stay, so there is no event for it.
    reply.catch(() => {
      if (state === 'up') drop();
      else isRefused = true;
    });
    const { kind, value } = { value: undefined, ...(await inTime(reply)) };
    if (kind === 'none' || !Array.isArray(value) || called !== name || state === 'closed') return;
    const [wasAlive, alive]: readonly unknown[] = value;
    if (typeof alive === 'number') replicas = Math.max(1, alive);
    if (state === 'up' && wasAlive === 1) return;
    if (state === 'up') {
      // This process was silent for longer than its lease: others may have dropped its requests under way.
      down();
      await heartbeat();
      return;
    }
    state = 'up';
    isToldDown = false;
    options.onUp();
  }

  function beat(): void {
    if (!client.isReady()) return;
    if (state === 'up' || !isRefused) {
      void heartbeat();
      return;
    }
    // A connection to a server that lost its role or its login stays open, and the address may have another server by now.
    isRefused = false;
    client.reconnect();
  }

  client.listen({ ready: () => void heartbeat(), closed: down });
  beat();
  const cancelBeat = every(clock, heartbeatMs, beat);

  return {
    isUp: () => state === 'up',
    key,
    name: () => name,
    replicas: () => replicas,
    late: () => late,
    run: client.run,
    inTime,
    drop,
    subscribe: client.subscribe,
    close: async () => {
      cancelBeat();
      const wasUp = state === 'up';
      state = 'closed';
      // The lease would expire by itself. Removing it gives the other replicas this replica's share at once.
      if (wasUp) await inTime(client.run(leaveScript, [replicasKey], [name]));
    },
  };
}
