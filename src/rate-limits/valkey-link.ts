import { Valkey } from 'iovalkey';
import type { Clock } from '../core/clock.ts';
import { heartbeatScript, type Script, scripts } from './valkey-scripts.ts';

export interface ValkeyLinkOptions {
  /** `redis://`, `valkey://`, or with TLS `rediss://`, `valkeys://`; or the path of a Unix socket. */
  readonly url: string;
  readonly clock: Clock;
  /** Letters and digits that no other process has. */
  readonly newId: () => string;
  /** How many replicas there are, until the server has said so. Default 1. */
  readonly expectedReplicas?: number;
  /** How long one answer is waited for, milliseconds; a request may have to wait that long in vain. Default 50. */
  readonly patienceMs?: number;
  /** The server is asked from now on, under a new name: nothing it knew of this process counts any more. */
  readonly onUp: () => void;
  readonly onDown: () => void;
}

export type Reply = { readonly kind: 'reply'; readonly value: unknown } | { readonly kind: 'none' };

/** A connection that is given up as soon as it does not answer, and comes back by itself. */
export interface ValkeyLink {
  readonly isUp: () => boolean;
  /** Name of this process, as long as the server has known it without a break. */
  readonly name: () => string;
  /** Replicas alive when the server last answered, this one included; those expected while it never has. */
  readonly replicas: () => number;
  /** Answers that did not come in time, since the start. */
  readonly late: () => number;
  /** Runs a script. Rejects when the server fails, or the connection does; it may take its time, and is never sent twice. */
  readonly run: (script: Script, keys: readonly string[], args: readonly string[]) => Promise<unknown>;
  /** What the server replies, or `none` when it has not done so in time. Never rejects. */
  readonly inTime: (reply: Promise<unknown>) => Promise<Reply>;
  /** Begins anew, when what the server knows of this process is in doubt: it answered with an error. */
  readonly drop: () => void;
  /**
   * Calls `take` with every message of a channel; `listening` whenever some may have been missed: when it begins to listen
   * and when the server can be asked again, whichever comes last.
   */
  readonly subscribe: (
    channel: string,
    calls: { readonly take: (message: string) => void; readonly listening: () => void },
  ) => void;
  readonly close: () => Promise<void>;
}

/** So many answers in a row that did not come in time, and the server is not asked any more. */
const tolerated = 3;
const heartbeatMs = 1_000;
/** A replica that has not been heard of for so long is dead. */
const leaseMs = 3_000;
export const replicasKey = 'weir:replicas';

export function createValkeyLink(options: ValkeyLinkOptions): ValkeyLink {
  const { clock, newId, patienceMs = 50 } = options;
  const client = new Valkey(options.url, {
    connectionName: 'weir',
    // What cannot be sent now is not sent: a limit that answers late is worse than one that is not asked.
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
  let cancelTimer = (): void => undefined;

  async function run(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    try {
      return await client.evalsha(script.sha1, keys.length, ...keys, ...args);
    } catch (error) {
      // Somebody made the server forget its scripts.
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
        // What has arrived meanwhile is read first: a process that was busy itself must not blame the server.
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

  /** Says that this process is alive; under a new name if it was not believed to be. */
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
      // It slept for longer than its lease: others may have dropped what it had under way.
      down();
      await heartbeat();
      return;
    }
    state = 'up';
    isToldDown = false;
    options.onUp();
  }

  function beat(): void {
    cancelTimer = clock.after(heartbeatMs, beat);
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
  // Told by `onDown`, once, and not with every attempt to connect.
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
      const ear = client.duplicate({ connectionName: 'weir-subscriber' });
      subscriber = ear;
      const isReady = (): boolean => client.status === 'ready' && ear.status === 'ready';
      const ready = (): void => {
        if (isReady()) listening();
      };
      ear.on('error', () => undefined);
      ear.on('message', (_: string, message: string) => take(message));
      ear.on('ready', () => void ear.subscribe(channel).then(ready, () => undefined));
      client.on('ready', ready);
    },
    close: async () => {
      cancelTimer();
      const wasUp = state === 'up';
      state = 'closed';
      // Its lease would end by itself, but the others can have its share sooner.
      if (wasUp) await inTime(client.zrem(replicasKey, name));
      client.disconnect();
      subscriber?.disconnect();
    },
  };
}
