import * as fs from 'node:fs';
import { join } from 'node:path';
import { admit, type Admitted } from '../../src/gateway/admission/limits.ts';
import type { Plan } from '../../src/gateway/core/plan.ts';
import { Failure } from '../../src/core/failure.ts';
import type { OutcomeKind } from '../../src/core/settled-request.ts';
import { createAnswerLengths } from '../../src/gateway/metering/expected-output.ts';
import { createSettlement, type Settlement } from '../../src/gateway/metering/settle.ts';
import { createMemoryLimits } from '../../src/gateway/rate-limits/memory.ts';
import { prepareHere } from '../../src/gateway/request/prepare.ts';
import { connectStore, type OpenStore, type StoreThread } from '../../src/books/store/connect-store.ts';
import { type Machine, type SqliteStatement, type StoreTime, thisMachine } from '../../src/books/databases/machine.ts';
import { runStore } from '../../src/books/store/run-store.ts';
import type { StoreReply, StoreRequest } from '../../src/books/store/worker-message.ts';
import type { FakeClock } from '../support/fake-clock.ts';
import { modelOf, routeOf, targetOf } from '../support/route-of.ts';
import { uncounted } from '../support/uncounted.ts';
import { type Ending, promptTokens } from './model.ts';

/** How the disk of a service behaves. */
export type Disk = 'fine' | 'away' | 'commit-in-doubt';
/** When a service dies. */
export type Death = 'after-commit' | 'before-the-journal-is-removed';

/** The events of this process that are still to be handled. All asynchronous work of a service is here, or is a microtask. */
export interface Turns {
  readonly soon: (run: () => void) => void;
  /** Resolves when nothing is left to handle. */
  readonly quiet: () => Promise<void>;
}

export function createTurns(): Turns {
  let waiting = 0;
  return {
    soon: (run) => {
      waiting += 1;
      setImmediate(() => {
        waiting -= 1;
        run();
      });
    },
    quiet: async () => {
      do await new Promise((resolve) => setImmediate(resolve));
      while (waiting > 0);
    },
  };
}

export interface RunningRequest {
  readonly admitted: Admitted;
  readonly settlement: Settlement;
  attempts: number;
  delivered: number;
}

export interface TestedService {
  readonly store: OpenStore;
  readonly limits: ReturnType<typeof createMemoryLimits>;
  /** When it was started, by the monotonic clock. It reports its reservations a whole number of seconds later. */
  readonly begun: number;
  readonly isAlive: () => boolean;
  readonly upkeepRounds: () => number;
  readonly setDisk: (disk: Disk) => void;
  readonly dieAt: (death: Death) => void;
  /** Ends the service as a power cut does: nothing of it runs any more. */
  readonly kill: () => void;
  /** Begins a request. Rejects with the refusal. */
  readonly begin: (request: {
    readonly id: string;
    readonly cap: number;
    readonly keyHash: string;
  }) => Promise<RunningRequest>;
}

const route = routeOf('a');
const model = modelOf([route], { prices: { prompt: 1n, completion: 1n, inputCacheRead: 1n } });
const plan: Plan = { model, routes: [{ route, target: targetOf('a') }] };
/** 50 characters, which are estimated at 10 tokens. */
const prompt = 'abcdefghij'.repeat(promptTokens / 2);

/** How an ending is told to the settlement. */
export const kindOf: Readonly<Record<Ending, OutcomeKind>> = {
  completed: 'completed',
  cancelled: 'cancelled',
  unheard: 'cancelled',
  interrupted: 'interrupted',
  incomplete: 'incomplete',
  failed: 'failed',
};

/** Delivers output, with the engine's running count. */
export function deliver(request: RunningRequest, tokens: number): void {
  request.delivered += tokens;
  const usage = { promptTokens, completionTokens: request.delivered };
  request.settlement.take([
    { type: 'text-delta', choice: 0, text: 'word', deltas: 1 },
    { type: 'usage', usage },
  ]);
}

/** A service with its limits, metering, settlement queue and store, on an SQLite file and a journal. It can be killed at any moment. */
export async function startService(
  folder: string,
  { clock, turns }: { readonly clock: FakeClock; readonly turns: Turns },
): Promise<TestedService> {
  let isAlive = true;
  let upkeepRounds = 0;
  let death: Death | undefined;
  const connections = new Set<() => void>();
  const whileAlive = (run: () => void) => () => void (isAlive && run());
  const time: StoreTime = {
    ...{ now: clock.now, elapsed: clock.elapsed },
    after: (ms, run) => clock.after(ms, whileAlive(run)),
    nextTurn: (run) => turns.soon(whileAlive(run)),
  };

  function kill(): void {
    isAlive = false;
    for (const close of connections) close();
  }

  /** Whether the service dies now. */
  function diesAt(moment: Death): boolean {
    if (!isAlive || death !== moment) return false;
    kill();
    return true;
  }

  const disk = { state: 'fine' as Disk };
  const machine: Machine = {
    // A day that begins is a day that has passed, and no clock that was set forward.
    time: { ...time, elapsed: clock.now },
    files: { ...fs, unlinkSync: (path) => void (diesAt('before-the-journal-is-removed') || fs.unlinkSync(path)) },
    sqlite: failingSqlite(disk, connections),
  };
  const limits = createMemoryLimits(clock);
  const answerLengths = createAnswerLengths();
  const thread = threadOf(folder, {
    ...{ machine, deliver: (run) => turns.soon(whileAlive(run)) },
    replied: (reply) => {
      if (reply.kind === 'upkeep') upkeepRounds += 1;
      return !((reply.kind === 'settled' || reply.kind === 'journaled') && diesAt('after-commit'));
    },
  });
  const store = await connectStore(thread, { kind: 'sqlite', journalBytes: 1_000_000, retentionDays: 1 }, time);
  store.reportReserved(limits.reserved);

  return {
    ...{ store, limits, kill, begun: clock.elapsed() },
    isAlive: () => isAlive,
    upkeepRounds: () => upkeepRounds,
    setDisk: (state) => {
      disk.state = state;
    },
    dieAt: (moment) => {
      death = moment;
    },
    begin: async ({ id, cap, keyHash }) => {
      const credential = await store.findCredential(keyHash);
      if (credential === undefined) throw new Error('the key is not known');
      const admitted = await admit({ credential, latest: () => store.findCredential(keyHash) }, limits);
      const body = { model: model.id, max_tokens: cap, messages: [{ role: 'user', content: prompt }] };
      const prepared = prepareHere(new TextEncoder().encode(JSON.stringify(body)), {
        ...{ surface: 'chat', countPrompt: uncounted },
      });
      const settlement = createSettlement(
        {
          ...{ requestId: id, surface: 'chat', correlationId: '', credential, prepared, plan },
          ...{ counters: undefined, searchPrice: undefined, accrue: admitted.adjust },
          ...{ startedAt: clock.now(), begun: clock.elapsed(), watch: { progress: () => undefined } },
        },
        { store, clock, answerLengths },
      );
      await admitted.reserve(settlement.expectedCost());
      return { admitted, settlement, attempts: 0, delivered: 0 };
    },
  };
}

/** The fund that refused a request, or undefined for any other error. */
export function refusedFund(error: unknown): string | undefined {
  return error instanceof Failure ? error.limit : undefined;
}

/** SQLite's driver, with a disk that can fail, and a commit that is made and reported as failed. */
function failingSqlite(disk: { state: Disk }, connections: Set<() => void>): Machine['sqlite'] {
  const failed = () => Object.assign(new Error('disk I/O error'), { errcode: 10 });
  return {
    ...thisMachine.sqlite,
    open: (file, options) => {
      const connection = thisMachine.sqlite.open(file, options);
      let hasRows = false;
      const guarded =
        <Values extends readonly unknown[], Result>(call: (...values: Values) => Result, sql = '') =>
        (...values: Values): Result => {
          if (disk.state === 'away') throw failed();
          if (sql.startsWith('insert into requests')) hasRows = true;
          return call(...values);
        };
      const close = (): void => {
        if (connections.delete(close)) connection.close();
      };
      connections.add(close);
      return {
        exec: guarded((sql: string) => {
          connection.exec(sql);
          if (sql.startsWith('begin')) hasRows = false;
          if (sql !== 'commit' || !hasRows || disk.state !== 'commit-in-doubt') return;
          disk.state = 'away';
          throw failed();
        }),
        prepare: (sql, how) => {
          const statement = connection.prepare(sql, how);
          return {
            all: guarded<Parameters<SqliteStatement['all']>, ReturnType<SqliteStatement['all']>>(
              (...values) => statement.all(...values),
              sql,
            ),
            get: guarded((...values) => statement.get(...values), sql),
            run: guarded((...values) => statement.run(...values), sql),
            iterate: guarded((...values) => statement.iterate(...values), sql),
            columns: () => statement.columns(),
          };
        },
        get isTransaction() {
          return connection.isTransaction;
        },
        ...{ location: () => connection.location(), close },
      };
    },
  };
}

/** The store's thread, in this one: messages take a turn, and come in their order. */
function threadOf(
  folder: string,
  port: {
    readonly machine: Machine;
    readonly deliver: (run: () => void) => void;
    /** Returns whether the reply reaches the service. */
    readonly replied: (reply: StoreReply) => boolean;
  },
): StoreThread {
  const { machine, deliver: send, replied } = port;
  const early: StoreRequest[] = [];
  let take = (request: StoreRequest): void => void early.push(request);
  const journalFolder = join(folder, 'journal');
  fs.mkdirSync(journalFolder, { recursive: true });
  return {
    post: (request) => send(() => take(request)),
    listen: ({ reply, ended }) => {
      const data = { journalFolder, journalBytes: 1_000_000, retentionDays: 1 };
      void runStore(
        { location: { kind: 'sqlite', file: join(folder, 'weir.db') }, ...data },
        {
          reply: (message) => void (replied(message) && send(() => reply(message))),
          listen: (handle) => {
            take = handle;
            for (const request of early.splice(0)) handle(request);
          },
          close: () => send(() => ended(0)),
        },
        machine,
      );
    },
  };
}
