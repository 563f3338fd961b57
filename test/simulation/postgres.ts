import { DatabaseError } from 'pg';
import type { PostgresPool, PostgresPoolClient, PostgresQueryResult } from 'kysely';
import { thisMachine } from '../../src/books/databases/machine.ts';
import { openDatabase } from '../../src/books/databases/open-database.ts';
import { postgresConnections, type PostgresConnections } from '../../src/books/databases/postgres/connections.ts';
import { runSql, schemaLocation } from '../support/postgres-schema.ts';
import { createListeners, type Listener, type Listeners } from './postgres-listeners.ts';
import { createTurns, type Turn, type Turns } from './postgres-turns.ts';
import { connectionError, createWay, type Way } from './postgres-way.ts';
import type { Program } from './program.ts';
import { quiescence, type WorldLog } from './scheduler.ts';
import type { MakeDatabase } from './world-database.ts';

/**
 * A schema of a real PostgreSQL server, for each world. Statements run in real time, in which the world's clock stands
 * still, and each takes virtual time besides: a program may be paused or killed between two statements of a transaction.
 */
export const onPostgres =
  (url: string): MakeDatabase =>
  async ({ scheduler, chance, seed, loses }) => {
    const schema = `world_${process.pid}_${seed}`;
    await runSql(url, `drop schema if exists ${schema} cascade; create schema ${schema}`);
    const location = schemaLocation(url, schema);
    const observer = await openDatabase(location, { missing: 'refuse', user: 'operator' });
    const work = createRealWork();
    const shared = { turns: createTurns(scheduler), listeners: createListeners(), real: work.real, log: scheduler.log };
    return {
      ...{ location, observer, quiet: work.quiet },
      machineFor: (program, isAway) => ({
        sqlite: thisMachine.sqlite,
        postgres: (at) =>
          connect(at, program, {
            ...shared,
            isConnectionLost: () => loses('connection'),
            isRolledBack: () => loses('serialization'),
            way: createWay(program, isAway, chance),
          }),
      }),
      powerCut: () => undefined,
      close: async () => {
        await observer.close();
        await runSql(url, `drop schema ${schema} cascade`);
      },
    };
  };

interface Server {
  readonly way: Way;
  /** Asked at each statement. */
  readonly isConnectionLost: () => boolean;
  /** Asked at each statement of a transaction but its first and last one, and at its commit. */
  readonly isRolledBack: () => boolean;
  readonly turns: Turns;
  readonly listeners: Listeners;
  readonly real: RealWork['real'];
  readonly log: WorldLog;
}

/** The connections of a program. */
function connect(url: string, program: Program, server: Server): PostgresConnections {
  const { way, real } = server;
  const connections = postgresConnections(url);
  const listeners: Listener[] = [];
  const held = new Set<Turn>();
  const context = {
    ...{ program, server, held },
    // The network is the same.
    broken: () => {
      for (const { end } of listeners.splice(0)) end();
    },
  };

  program.onDeath(() => {
    for (const turn of held) turn.end();
    for (const { end } of listeners.splice(0)) end();
    void real(connections.drop());
  });

  function pool(from: PostgresPool): PostgresPool {
    const sessions = new WeakMap<PostgresPoolClient, PostgresPoolClient>();
    return {
      options: from.options,
      connect: async () => {
        await way.pass();
        if (way.isAway()) throw connectionError('ECONNREFUSED');
        const client = await real(from.connect());
        const known = sessions.get(client) ?? createSession(client, context);
        sessions.set(client, known);
        return known;
      },
      end: () => real(from.end()),
    };
  }

  return {
    pool: (max) => pool(connections.pool(max)),
    unboundedPool: () => pool(connections.unboundedPool()),
    transactionSettings: () => undefined,
    client: () => {
      const listener = server.listeners.add(program, way);
      listeners.push(listener);
      return listener.client;
    },
    drop: () => real(connections.drop()),
  };
}

interface SessionContext {
  readonly program: Program;
  readonly server: Server;
  /** The turns that the program has. */
  readonly held: Set<Turn>;
  readonly broken: () => void;
}

/** A client as the product sees it. From the beginning of a transaction to its end it has the turn. */
function createSession(
  client: PostgresPoolClient,
  { program, server, held, broken }: SessionContext,
): PostgresPoolClient {
  const { way, turns, listeners, real, log, isConnectionLost, isRolledBack } = server;
  let turn: Turn | undefined;
  let isBroken = false;

  function passTurn(): void {
    if (turn === undefined) return;
    held.delete(turn);
    turn.end();
    turn = undefined;
  }

  function breakOff(why: string): void {
    log.write(`${program.name} loses a session: ${why}`);
    isBroken = true;
    passTurn();
    client.release(true);
    broken();
  }

  /** A lost connection loses the statement before it is carried out, or its answer. */
  async function carryOut(text: string, parameters: readonly unknown[]): Promise<PostgresQueryResult<object>> {
    const isLost = way.isAway() || isConnectionLost();
    const isCarriedOut = !isLost || way.chance() < 0.5;
    const result = isCarriedOut ? await real(client.query<object>(text, parameters)) : undefined;
    if (isLost || result === undefined) {
      breakOff(`${isCarriedOut ? 'after' : 'before'} ${text.slice(0, 30)}`);
      throw connectionError('ECONNRESET');
    }
    if (text.includes('pg_notify')) listeners.notify();
    return result;
  }

  /** As a server does that cannot bring transactions into an order. */
  async function failToSerialize(text: string): Promise<never> {
    log.write(`${program.name} cannot serialize ${text.slice(0, 30)}`);
    if (text.startsWith('commit')) await real(client.query('rollback', []));
    throw Object.assign(new DatabaseError('could not serialize access', 0, 'error'), { code: '40001' });
  }

  async function query(text: string, parameters: readonly unknown[]): Promise<PostgresQueryResult<object>> {
    await way.pass();
    if (isBroken) throw connectionError('ECONNRESET');
    turn ??= await turns.take(program);
    const mine = turn;
    held.add(mine);
    mine.touch();
    if (/^(begin|start)/.test(text)) mine.onIdle(() => breakOff('idle in a transaction'));
    try {
      if (mine.isTransaction() && !/^(begin|start|rollback|set)/.test(text) && isRolledBack())
        return await failToSerialize(text);
      return await carryOut(text, parameters);
    } finally {
      if (turn === mine && (!mine.isTransaction() || /^(commit|rollback)/.test(text))) passTurn();
    }
  }

  return {
    query,
    release: () => {
      passTurn();
      if (!isBroken) client.release();
    },
  } as PostgresPoolClient;
}

interface RealWork {
  /** Has the world wait for real work. */
  readonly real: <Result>(work: Promise<Result>) => Promise<Result>;
  /** Resolves when none is under way, and no promise can go on. */
  readonly quiet: () => Promise<void>;
}

function createRealWork(): RealWork {
  const underWay = new Set<Promise<unknown>>();
  return {
    real: (work) => {
      const settled: Promise<unknown> = work.then(
        () => underWay.delete(settled),
        () => underWay.delete(settled),
      );
      underWay.add(settled);
      return work;
    },
    quiet: async () => {
      await quiescence();
      while (underWay.size > 0) {
        await Promise.all(underWay);
        await quiescence();
      }
    },
  };
}
