import { Socket } from 'node:net';
import {
  CompiledQuery,
  type Driver,
  PostgresDialect,
  type PostgresDialectConfig,
  PostgresDriver,
  type PostgresPool,
} from 'kysely';
import { Client, type ClientConfig, Pool, types } from 'pg';
import type { CancelTimer, Clock } from '../../../core/clock.ts';
import { CommitInDoubt, type OpenDatabase } from '../database.ts';
import { urlPerHost } from '../postgres-hosts.ts';
import { isRolledBack } from './errors.ts';

/** Connections to one PostgreSQL server. */
export interface PostgresConnections {
  /** At most `max` at once. */
  readonly pool: (max: number) => PostgresPool;
  /** A lasting connection outside the pool. */
  readonly client: () => ListeningClient;
  /** One connection without a time limit of statements, for a change of the tables or a report. */
  readonly unboundedPool: () => PostgresPool;
  /**
   * The settings that a transaction makes for itself. Undefined unless a pooler shares the server's connections: then what was set for a
   * connection holds for another one.
   */
  readonly transactionSettings: (limits: Limits) => string | undefined;
  /** Ends every connection at once, since one that hangs would hang again. Resolves when they are closed. */
  readonly drop: () => Promise<void>;
}

/** What a connection that receives notifications needs, as `pg` has it. */
export interface ListeningClient {
  on(event: 'notification', run: () => void): unknown;
  once(event: 'end', run: () => void): unknown;
  connect(): Promise<unknown>;
  query(text: string): Promise<unknown>;
  end(): Promise<void>;
}

/** `unbounded`: for a change of the tables or a report. */
type Limits = 'bounded' | 'unbounded';

/** Longest time for a connection to be made, milliseconds. */
const connectMs = 3_000;
/** Longest time of a statement, measured by the server, which then ends it. */
const statementMs = 4_000;
/** Longest wait for a row that another transaction has locked. */
const lockMs = 2_000;
/** Longest time of a statement, measured here, for a server that does not answer. */
const silenceMs = 5_000;
/**
 * Longest time in which an open transaction may do nothing, for connections without other limits. A command that was
 * stopped, or whose machine is gone, would keep its locks, and settlements would wait for them.
 */
const maxIdleMs = 30_000;

/** A quiet service keeps its connection this long, so that the next row need not wait for a new one. */
const idleMs = 60_000;

/** The limits of time that the server keeps, milliseconds. Poolers refuse them as parameters of the connection (docs/operate/poolers.md). */
const serverLimits: Readonly<Record<Limits, Readonly<Record<string, number>>>> = {
  bounded: {
    statement_timeout: statementMs,
    lock_timeout: lockMs,
    idle_in_transaction_session_timeout: silenceMs,
  },
  unbounded: { statement_timeout: 0, lock_timeout: 0, idle_in_transaction_session_timeout: maxIdleMs },
};

/**
 * Sets the limits, and has commits wait for the disk: a server may be set to acknowledge a commit earlier, which is too early for a
 * ledger. A server that waits for its replicas, too, keeps its setting.
 */
function settingsText(limits: Limits, holdFor: 'session' | 'transaction'): string {
  const isLocal = holdFor === 'transaction';
  const set = Object.entries(serverLimits[limits]).map(([name, ms]) => `set_config('${name}', '${ms}', ${isLocal})`);
  const now = "current_setting('synchronous_commit')";
  const durable = `set_config('synchronous_commit', case ${now} when 'off' then 'on' else ${now} end, ${isLocal})`;
  return [...set, durable].join(', ');
}

/**
 * The first query of a new connection. A pooler names a process (`$1`) that is not the server's: then nothing is set, because it would be
 * set for whoever gets the server's connection next.
 */
const firstQuery = (limits: Limits): string => `select pg_backend_pid() <> $1 as pooled,
  not pg_is_in_recovery() and current_setting('transaction_read_only') = 'off' as writable,
  case when pg_backend_pid() = $1 then concat(${settingsText(limits, 'session')}) end`;

const int8 = 20;

/** Reads 64-bit columns as bigints. As numbers they would lose digits, and the driver's default is text. */
const bigints: NonNullable<ClientConfig['types']> = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === int8 ? (text: string) => BigInt(text) : types.getTypeParser(oid, format),
};

/**
 * Connects by a URL with the parameters of docs/operate/poolers.md. Of several hosts, the first one that can be written is used, beginning with
 * the one that was used last.
 */
export function postgresConnections(url: string): PostgresConnections {
  const sockets = new Set<Socket>();
  const urls = urlPerHost(url);
  const needsWritable = urls.length > 1 || /[?&]target_session_attrs=(read-write|primary)\b/.test(url);
  let current = 0;
  let isPooled = false;
  const common: ClientConfig = {
    connectionTimeoutMillis: connectMs,
    keepAlive: true,
    fallback_application_name: 'weir',
    query_timeout: silenceMs,
    types: bigints,
    stream: () => {
      const socket = new Socket();
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
      return socket;
    },
  };
  const configOf = (index: number): ClientConfig => {
    const at = urls[index] ?? url;
    return { ...common, connectionString: `${at}${at.includes('?') ? '&' : '?'}uselibpqcompat=true` };
  };

  async function welcome(client: Pick<Client, 'query'>, limits: Limits): Promise<void> {
    const pid: unknown = Reflect.get(client, 'processID');
    const { rows } = await client.query<{ pooled: boolean; writable: boolean }>(firstQuery(limits), [pid ?? 0]);
    const [row] = rows;
    isPooled = row?.pooled ?? false;
    if (needsWritable && row?.writable !== true) throw new Error('the server only reads: it is a standby');
  }

  function poolAt(index: number, max: number, limits: Limits): Pool {
    const made = new Pool({
      ...{ ...configOf(index), max, idleTimeoutMillis: idleMs },
      ...(limits === 'unbounded' && { query_timeout: undefined }),
      // oxlint-disable-next-line typescript/no-misused-promises -- the pool waits for it, and ends the connection if it rejects.
      onConnect: (client) => welcome(client, limits),
    });
    // An idle connection that breaks is replaced when it is needed; without a listener the event would end the process.
    made.on('error', () => undefined);
    // A connection in use needs a listener, too. Its query is rejected anyway.
    made.on('connect', (client) => client.on('error', () => undefined));
    return made;
  }

  function pool(max: number, limits: Limits): PostgresPool {
    const pools = urls.map((_, index) => poolAt(index, max, limits));
    const [only] = pools;
    if (only !== undefined && pools.length === 1) return only;
    return {
      options: {},
      connect: async () => {
        let failure: unknown;
        for (const _ of pools) {
          try {
            const client = await pools[current]?.connect();
            if (client !== undefined) return client;
          } catch (error) {
            failure = error;
            current = (current + 1) % pools.length;
          }
        }
        throw failure;
      },
      end: async () => {
        await Promise.all(pools.map((one) => one.end()));
      },
    };
  }

  return {
    pool: (max) => pool(max, 'bounded'),
    unboundedPool: () => pool(1, 'unbounded'),
    transactionSettings: (limits) => (isPooled ? `select ${settingsText(limits, 'transaction')}` : undefined),
    client: () => {
      const client = new Client(configOf(current));
      client.on('error', () => undefined);
      return client;
    },
    drop: async () => {
      await Promise.all(
        [...sockets].map((socket) => {
          const closed = new Promise((resolve) => socket.once('close', resolve));
          socket.destroy();
          return closed;
        }),
      );
      // Gives the pool time to handle the events of the closed connections.
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

interface WeirDialectConfig extends PostgresDialectConfig {
  /** The settings at the beginning of a transaction. */
  readonly transactionSettings?: () => string | undefined;
}

/**
 * Kysely's dialect with three changes: a transaction can set something first; it reports why a transaction failed, and not why its rollback failed; and it
 * rejects with `CommitInDoubt` if the server may have committed.
 */
export class WeirPostgresDialect extends PostgresDialect {
  readonly #config: WeirDialectConfig;

  constructor(config: WeirDialectConfig) {
    super(config);
    this.#config = config;
  }

  override createDriver(): Driver {
    return new WeirPostgresDriver(this.#config);
  }
}

class WeirPostgresDriver extends PostgresDriver {
  readonly #settings: () => string | undefined;

  constructor(config: WeirDialectConfig) {
    super(config);
    this.#settings = config.transactionSettings ?? (() => undefined);
  }

  override async beginTransaction(...[connection, how]: Parameters<PostgresDriver['beginTransaction']>): Promise<void> {
    await super.beginTransaction(connection, how);
    const settings = this.#settings();
    if (settings !== undefined) await connection.executeQuery(CompiledQuery.raw(settings));
  }

  override async commitTransaction(connection: Parameters<PostgresDriver['commitTransaction']>[0]): Promise<void> {
    try {
      await super.commitTransaction(connection);
    } catch (error) {
      throw isRolledBack(error) ? error : new CommitInDoubt(error);
    }
  }

  override async rollbackTransaction(connection: Parameters<PostgresDriver['rollbackTransaction']>[0]): Promise<void> {
    // A connection that cannot roll back is not used again, and the server rolls back by itself.
    await super.rollbackTransaction(connection).catch(() => undefined);
  }
}

/** The channel on which an operator's command announces that it has changed accounts. */
export const changesChannel = 'weir_accounts';

/** Least time between two calls of `changed`: a script that makes a thousand keys causes only a few calls. */
const everyMs = 50;
const retryMs = 1_000;

/**
 * Listens for changes to accounts. No change is reported while the connection is lost, or if a pooler in between drops
 * notifications. The store reads credentials in use again within a second in any case.
 */
export function listenForChanges(
  connections: Pick<PostgresConnections, 'client'>,
  clock: Pick<Clock, 'after'>,
  changed: () => void,
): ReturnType<OpenDatabase['watch']> {
  let stopped = false;
  let current: ListeningClient | undefined;
  let cancelRetry: CancelTimer | undefined;
  let cancelReport: CancelTimer | undefined;

  async function listen(): Promise<void> {
    const client = connections.client();
    current = client;
    client.on('notification', () => {
      cancelReport ??= clock.after(everyMs, () => {
        cancelReport = undefined;
        changed();
      });
    });
    client.once('end', again);
    try {
      await client.connect();
      await client.query(`listen ${changesChannel}`);
      // The server does not repeat changes from before this connection, so there may have been some.
      changed();
    } catch {
      await client.end().catch(() => undefined);
      again();
    }
  }

  function again(): void {
    if (stopped) return;
    cancelRetry ??= clock.after(retryMs, () => {
      cancelRetry = undefined;
      void listen();
    });
  }

  void listen();
  return {
    stop: async () => {
      stopped = true;
      cancelRetry?.();
      cancelReport?.();
      await current?.end().catch(() => undefined);
    },
  };
}
