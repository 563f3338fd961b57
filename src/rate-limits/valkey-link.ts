import { Valkey } from 'iovalkey';
import type { Clock } from '../core/clock.ts';
import { heartbeatScript, type Script, scripts } from './valkey-scripts.ts';

export interface ValkeyLinkOptions {
  /** `redis://`, `valkey://`, or with TLS `rediss://`, `valkeys://`; or the path of a Unix socket. */
  readonly url: string;
  readonly clock: Clock;
  /** Makes a name of letters and digits that no other process has. */
  readonly newId: () => string;
  /** How many replicas to assume until the server has told the number. Default 1. */
  readonly expectedReplicas?: number;
  /** How long to wait for one answer, milliseconds; a request may wait that long in vain. Default 50. */
  readonly patienceMs?: number;
  /** Called when the server can be asked, under a new name: what it knew of this process does not count any more. */
  readonly onUp: () => void;
  readonly onDown: () => void;
}

export type Reply = { readonly kind: 'reply'; readonly value: unknown } | { readonly kind: 'none' };

/** A connection to Valkey that counts as down as soon as the server does not answer in time, and reconnects by itself. */
export interface ValkeyLink {
  readonly isUp: () => boolean;
  /** Name of this process at the server. A new one after every break of the connection. */
  readonly name: () => string;
  /** Replicas alive when the server last answered, this one included; the expected number until it has answered once. */
  readonly replicas: () => number;
  /** Answers that did not come in time, since the start. */
  readonly late: () => number;
  /** Runs a script, once. Rejects when the server or the connection fails. May take as long as the server takes. */
  readonly run: (script: Script, keys: readonly string[], args: readonly string[]) => Promise<unknown>;
  /** The server's reply, or `none` when it does not come in time. Never rejects. */
  readonly inTime: (reply: Promise<unknown>) => Promise<Reply>;
  /** Reconnects under a new name. For use after an error, when it is not certain what the server knows of this process. */
  readonly drop: () => void;
  /**
   * Calls `take` with every message of a channel, and `listening` whenever messages may have been missed: as soon as both the
   * subscription and the connection are ready, at the start and after every break.
   */
  readonly subscribe: (
    channel: string,
    calls: { readonly take: (message: string) => void; readonly listening: () => void },
  ) => void;
  readonly close: () => Promise<void>;
}

/** After so many late answers in a row the connection counts as down. */
const tolerated = 3;
const heartbeatMs = 1_000;
/** A replica without a heartbeat for so long counts as dead. */
const leaseMs = 3_000;
export const replicasKey = 'weir:replicas';

export function createValkeyLink(options: ValkeyLinkOptions): ValkeyLink {
  const { clock, newId, patienceMs = 50 } = options;
  const client = new Valkey(options.url, {
    connectionName: 'weir',
    // A command that cannot be sent now fails: a late answer is worse than none.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    connectTimeout: 1_000,
    disconnectTimeout: 100,
    // Ends a connection on which commands wait for a server that hangs.
    socketTimeout: 2_000,
    keepAlive: 10_000,
    retryStrategy: (times) => Math.min(50 * times, 1_000),
  });
  let subscriber: Valkey | undefined;
  let name = newId();
  let replicas = options.expectedReplicas ?? 1;
  let misses = 0;
  let late = 0;
  let isDropped = false;
  let state: 'down' | 'up' | 'closed' = 'down';
  let isToldDown = false;
  let cancelBeat = (): void => undefined;

  async function run(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    try {
      return await client.evalsha(script.sha1, keys.length, ...keys, ...args);
    } catch (error) {
      // The server's scripts were flushed.
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
      return client.eval(script.text, keys.length, ...keys, ...args);
    }
  }

  function down(): void {
    misses = 0;
    if (state === 'up') state = 'down';
    if (state === 'closed' || isToldDown) return;
    isToldDown = true;
    options.onDown();
  }

  function drop(): void {
    down();
    if (client.status !== 'ready' || isDropped || state === 'closed') return;
    isDropped = true;
    client.disconnect(true);
  }

  function inTime(reply: Promise<unknown>): Promise<Reply> {
    return new Promise((resolve) => {
      let isOver = false;
      const end = (with_: Reply): void => {
        isOver = true;
        resolve(with_);
      };
      const stop = clock.after(patienceMs, () => {
        // Replies that have arrived are read first: when this process itself was busy, the server is not late.
        setImmediate(() => {
          if (isOver) return;
          end({ kind: 'none' });
          late += 1;
          misses += 1;
          if (misses >= tolerated) drop();
        });
      });
      reply.then(
        (value) => {
          stop();
          misses = 0;
          end({ kind: 'reply', value });
        },
        () => {
          stop();
          end({ kind: 'none' });
        },
      );
    });
  }

  /** Tells the server that this process is alive; under a new name when the server had declared it dead. */
  async function heartbeat(): Promise<void> {
    const before = state === 'up' ? '' : name;
    if (state === 'down') name = newId();
    const called = name;
    const reply = run(heartbeatScript, [replicasKey], [called, String(leaseMs), before]);
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
    cancelBeat = clock.after(heartbeatMs, beat);
    if (client.status === 'ready') void heartbeat();
  }

  async function begin(): Promise<void> {
    await Promise.all(scripts.map(({ text }) => client.script('LOAD', text)));
    await heartbeat();
  }

  client.on('ready', () => {
    isDropped = false;
    begin().catch(drop);
  });
  client.on('close', down);
  // `onDown` reports an outage once; the client's own errors come with every attempt to connect.
  client.on('error', () => undefined);
  beat();

  return {
    isUp: () => state === 'up',
    name: () => name,
    replicas: () => replicas,
    late: () => late,
    run,
    inTime,
    drop,
    subscribe: (channel, { take, listening }) => {
      const subscription = client.duplicate({ connectionName: 'weir-subscriber' });
      subscriber = subscription;
      const isReady = (): boolean => client.status === 'ready' && subscription.status === 'ready';
      const ready = (): void => {
        if (isReady()) listening();
      };
      subscription.on('error', () => undefined);
      subscription.on('message', (_: string, message: string) => take(message));
      subscription.on('ready', () => void subscription.subscribe(channel).then(ready, () => undefined));
      client.on('ready', ready);
    },
    close: async () => {
      cancelBeat();
      const wasUp = state === 'up';
      state = 'closed';
      // The lease would end by itself, but without it the other replicas get this one's share at once.
      if (wasUp) await inTime(client.zrem(replicasKey, name));
      client.disconnect();
      subscriber?.disconnect();
    },
  };
}
