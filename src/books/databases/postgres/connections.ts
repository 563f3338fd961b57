import { Socket } from 'node:net';
import { type Driver, PostgresDialect, type PostgresDialectConfig, PostgresDriver, type PostgresPool } from 'kysely';
import { Client, type ClientConfig, Pool, types } from 'pg';
import type { CancelTimer, Clock } from '../../../core/clock.ts';
import { CommitInDoubt, type OpenDatabase } from '../database.ts';
import { isRolledBack } from './errors.ts';

/** Connections to one PostgreSQL server. */
export interface PostgresConnections {
  /** At most `max` at once. */
  readonly pool: (max: number) => PostgresPool;
  /** A lasting connection outside the pool. */
  readonly client: () => ListeningClient;
  /** One connection without a time limit of statements, for a change of the tables or a report. */
  readonly unboundedPool: () => PostgresPool;
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

/**
 * A server may be set to acknowledge a commit before it is on disk. That is too early for a ledger. A server that waits
 * for its replicas, too, keeps its setting.
 */
const durableCommits =
  "select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') = 'off'";

const int8 = 20;

/** Reads 64-bit columns as bigints. As numbers they would lose digits, and the driver's default is text. */
const bigints: NonNullable<ClientConfig['types']> = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === int8 ? (text: string) => BigInt(text) : types.getTypeParser(oid, format),
};

/**
 * Connects by a URL with the usual parameters (`sslmode`, `sslrootcert`, `sslcert`, `sslkey`, `host`, `options`, …).
 * They mean the same as for PostgreSQL's own programs.
 */
export function postgresConnections(url: string): PostgresConnections {
  const sockets = new Set<Socket>();
  const config: ClientConfig = {
    connectionString: `${url}${url.includes('?') ? '&' : '?'}uselibpqcompat=true`,
    connectionTimeoutMillis: connectMs,
    keepAlive: true,
    fallback_application_name: 'weir',
    types: bigints,
    stream: () => {
      const socket = new Socket();
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
      return socket;
    },
  };
  const withTimeouts: ClientConfig = {
    ...config,
    statement_timeout: statementMs,
    lock_timeout: lockMs,
    idle_in_transaction_session_timeout: silenceMs,
    query_timeout: silenceMs,
  };

  function pool(from: ClientConfig, max: number): Pool {
    const made = new Pool({
      ...{ ...from, max, idleTimeoutMillis: idleMs },
      // oxlint-disable-next-line typescript/no-misused-promises -- the pool waits for it, and ends the connection if it rejects.
      onConnect: (client) => client.query(durableCommits),
    });
    // An idle connection that breaks is replaced when it is needed; without a listener the event would end the process.
    made.on('error', () => undefined);
    // A connection in use needs a listener, too. Its query is rejected anyway.
    made.on('connect', (client) => client.on('error', () => undefined));
    return made;
  }

  return {
    pool: (max) => pool(withTimeouts, max),
    unboundedPool: () => pool({ ...config, idle_in_transaction_session_timeout: maxIdleMs }, 1),
    client: () => {
      const client = new Client(withTimeouts);
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

/**
 * Kysely's dialect with two changes: it reports why a transaction failed, and not why its rollback failed; and it
 * rejects with `CommitInDoubt` if the server may have committed.
 */
export class WeirPostgresDialect extends PostgresDialect {
  readonly #config: PostgresDialectConfig;

  constructor(config: PostgresDialectConfig) {
    super(config);
    this.#config = config;
  }

  override createDriver(): Driver {
    return new WeirPostgresDriver(this.#config);
  }
}

class WeirPostgresDriver extends PostgresDriver {
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
