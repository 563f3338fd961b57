import { Cluster, Valkey } from 'iovalkey';
import type { ValkeyAddress } from '../../core/valkey-address.ts';
import type { Script } from './valkey-script.ts';
import { scripts } from './valkey-scripts.ts';

/** Receives the messages of a channel. */
export interface Subscription {
  readonly take: (message: string) => void;
  /**
   * Messages may have been missed until now. Called when the subscription begins, and after every interruption of it.
   */
  readonly listening: () => void;
  /** The server gives no right to the channel. Messages are missed until `listening` is called. */
  readonly refused?: () => void;
}

/** Connections to one server, or to all of a cluster. They reconnect by themselves. */
export interface ValkeyClient {
  /** Whether commands can be sent. */
  readonly isReady: () => boolean;
  /**
   * Runs a script once, on the server that has its keys. Rejects if the server or the connection fails, and never sends
   * it again.
   */
  readonly run: (script: Script, keys: readonly string[], args: readonly string[]) => Promise<unknown>;
  /**
   * Calls `ready` whenever commands can be sent again, `closed` whenever none can be sent any more, and `failed` with each
   * error of a connection.
   */
  readonly listen: (calls: {
    readonly ready: () => void;
    readonly closed: () => void;
    readonly failed: (error: unknown) => void;
  }) => void;
  /**
   * Connects to a server again, so that commands that were sent before do not arrive any more. Has no effect on
   * connections to a cluster.
   */
  readonly reconnect: () => void;
  readonly subscribe: (channel: string, subscription: Subscription) => void;
  readonly close: () => void;
}

const perConnection = {
  connectionName: 'weir',
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  connectTimeout: 1_000,
  disconnectTimeout: 100,
  // Ends a connection on which commands wait for a server that hangs.
  socketTimeout: 2_000,
  keepAlive: 10_000,
} as const;

const retry = (times: number): number => Math.min(50 * times, 1_000);

export function openValkeyClient(address: ValkeyAddress): ValkeyClient {
  switch (address.kind) {
    case 'server':
      return serverClient(address.url);
    case 'cluster':
      return clusterClient(address);
  }
}

function serverClient(url: string): ValkeyClient {
  // A command that cannot be sent now fails: a late answer is worse than none.
  const client = new Valkey(url, { ...perConnection, enableOfflineQueue: false, retryStrategy: retry });
  let subscriber: Valkey | undefined;
  let isDropped = false;
  const reconnect = (): void => {
    if (client.status !== 'ready' || isDropped) return;
    isDropped = true;
    client.disconnect(true);
  };
  return {
    isReady: () => client.status === 'ready',
    run: (script, keys, args) => runOn(client, script, { keys, args }),
    listen: ({ ready, closed, failed }) => {
      // The client reports an error with every attempt to connect, the link reports an outage once.
      client.on('error', failed);
      // A server that has no connection left says so before it is asked. With a login the client does not report that.
      client.on('connect', () => {
        client.stream.once('data', (bytes: Buffer) => {
          const [, said] = /^-(.{1,200})/.exec(bytes.toString('latin1')) ?? [];
          if (said !== undefined) failed(new Error(said));
        });
      });
      client.on('ready', () => {
        isDropped = false;
        // A script that cannot be loaded is sent as text (`runOn`).
        void Promise.allSettled(scripts.map(({ text }) => client.script('LOAD', text))).then(ready);
      });
      client.on('close', closed);
    },
    reconnect,
    subscribe: (channel, { take, listening, refused }) => {
      const subscription = client.duplicate({ connectionName: 'weir-subscriber' });
      subscriber = subscription;
      let isRefused = false;
      subscription.on('error', () => undefined);
      subscription.on('message', (_: string, message: string) => take(message));
      subscription.on('ready', () => {
        isRefused = false;
        void subscription.subscribe(channel).then(listening, () => {
          isRefused = true;
          refused?.();
        });
      });
      // What could not be read before can be read now.
      client.on('ready', () => {
        if (!isRefused) listening();
      });
    },
    close: () => {
      client.disconnect();
      subscriber?.disconnect();
    },
  };
}

/** How often the servers of a cluster are asked for the distribution of keys; MOVED is followed at once. */
const slotsEveryMs = 1_000;
/**
 * How often `listening` is called for a cluster. Its client subscribes again without an event, so messages may have
 * been missed.
 */
const missedEveryMs = 5_000;

function clusterClient({
  servers,
  login,
  isEncrypted,
}: Extract<ValkeyAddress, { readonly kind: 'cluster' }>): ValkeyClient {
  const client = new Cluster([...servers], {
    enableOfflineQueue: false,
    clusterRetryStrategy: retry,
    // A failed command is not sent again: the server may have run it, and an answer would come too late.
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    slotsRefreshInterval: slotsEveryMs,
    // Certificates name hosts, so names are not resolved to addresses here.
    dnsLookup: (host, found) => found(null, host),
    redisOptions: { ...perConnection, ...login, ...(isEncrypted ? { tls: {} } : {}) },
  });
  let missed: NodeJS.Timeout | undefined;
  const isReady = (): boolean => client.status === 'ready';
  // The link of each hash tag adds its listeners to this client.
  client.setMaxListeners(0);
  return {
    isReady,
    run: (script, keys, args) => runOn(client, script, { keys, args }),
    listen: ({ ready, closed, failed }) => {
      client.on('error', failed);
      client.on('ready', ready);
      client.on('close', closed);
    },
    reconnect: () => undefined,
    subscribe: (channel, { take, listening, refused }) => {
      const begin = (): void => void client.subscribe(channel).then(listening, refused);
      client.on('message', (_: string, message: string) => take(message));
      client.on('ready', begin);
      if (isReady()) begin();
      missed = setInterval(() => {
        if (isReady()) listening();
      }, missedEveryMs);
    },
    close: () => {
      clearInterval(missed);
      client.disconnect();
    },
  };
}

async function runOn(
  client: Valkey | Cluster,
  script: Script,
  { keys, args }: { readonly keys: readonly string[]; readonly args: readonly string[] },
): Promise<unknown> {
  try {
    return await client.evalsha(script.sha1, keys.length, ...keys, ...args);
  } catch (error) {
    // The server's scripts were flushed, or this server of a cluster has not received the script yet.
    if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
    return client.eval(script.text, keys.length, ...keys, ...args);
  }
}
