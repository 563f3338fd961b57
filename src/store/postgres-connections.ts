import { Socket } from 'node:net';
import { Client, type ClientConfig, Pool, types } from 'pg';

/** Connections to one PostgreSQL server. */
export interface PostgresConnections {
  /** At most `max` at once. */
  readonly pool: (max: number) => Pool;
  /** One that stays, outside the pool. */
  readonly client: () => Client;
  /** One connection for what may take as long as it takes: a change of the tables, a report. */
  readonly patientPool: () => Pool;
  /** Ends every connection at once: one that hangs would hang again. Resolves when they are gone. */
  readonly drop: () => Promise<void>;
}

/** Longest time for a connection to be made, milliseconds. */
const connectMs = 3_000;
/** Longest time of a statement, as the server counts; it gives up by itself. */
const statementMs = 4_000;
/** Longest wait for a row that another transaction has. */
const lockMs = 2_000;
/** Longest time of a statement as seen from here: a server that says nothing at all. */
const silenceMs = 5_000;

/** A quiet service keeps its connection: the next row need not wait for another. */
const idleMs = 60_000;

const int8 = 20;

/** 64-bit columns are bigints: as numbers they would lose money, as the driver's texts they would be compared as texts. */
const bigints: NonNullable<ClientConfig['types']> = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === int8 ? (text: string) => BigInt(text) : types.getTypeParser(oid, format),
};

/**
 * Connections by a URL with the usual parameters (`sslmode`, `sslrootcert`, `sslcert`, `sslkey`, `host`, `options`, …), which mean
 * what they mean to PostgreSQL's own programs.
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
  const hurried: ClientConfig = {
    ...config,
    statement_timeout: statementMs,
    lock_timeout: lockMs,
    idle_in_transaction_session_timeout: silenceMs,
    query_timeout: silenceMs,
  };

  function pool(from: ClientConfig, max: number): Pool {
    const made = new Pool({ ...from, max, idleTimeoutMillis: idleMs });
    // A connection that breaks while nobody uses it is replaced when it is needed; unheard, the event would end the process.
    made.on('error', () => undefined);
    // The same while it is in use; the query that it was used for is told anyway.
    made.on('connect', (client) => client.on('error', () => undefined));
    return made;
  }

  return {
    pool: (max) => pool(hurried, max),
    patientPool: () => pool(config, 1),
    client: () => {
      const client = new Client(hurried);
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
      // The pool learns of it from the same event.
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}
