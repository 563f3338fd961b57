import { createEventQueue } from './event-queue.ts';

/** The programs that work on a request. `service` is the event loop, `threads` the other threads of that process. */
export const parts = ['bench', 'envoy', 'service', 'threads', 'postgres', 'valkey'] as const;
export type Part = (typeof parts)[number];

export function byPart<Value>(of: (part: Part) => Value): Readonly<Record<Part, Value>> {
  return {
    ...{ bench: of('bench'), envoy: of('envoy'), service: of('service'), threads: of('threads') },
    ...{ postgres: of('postgres'), valkey: of('valkey') },
  };
}

/** Processor time of a part, ms: a turn takes `turn`, and `request` more for each request whose every step at this part is in it. */
export interface PartCost {
  readonly turn: number;
  readonly request: number;
}
export type Costs = Readonly<Record<Part, PartCost>>;

export interface Farm {
  readonly costs: Costs;
  /** Services that get requests: each the one that has the fewest. */
  readonly services: number;
  /** Callers who each have one request open, always. */
  readonly callers: number;
  /** Cores that all parts share; undefined: each part has cores of its own. */
  readonly cores: number | undefined;
  readonly envoyThreads: number;
  readonly seconds: number;
}

export interface Forecast {
  readonly requestsPerSecond: number;
  /** Processor time of a request, ms. */
  readonly cost: Readonly<Record<Part, number>>;
  /** Turns for a request. What many requests share counts for each by its part. */
  readonly turns: Readonly<Record<Part, number>>;
  /** Share of the time in which a thread of this part is at work, from 0 to 1. */
  readonly busy: Readonly<Record<Part, number>>;
}

/** A thread that does one thing at a time: in each turn all that has come until the turn begins. */
interface Thread {
  readonly part: Part;
  waiting: Step[];
  state: 'idle' | 'ready' | 'running';
  turns: number;
  busyMs: number;
}

/** What one request, or one commit, has a thread do. */
interface Step {
  readonly ms: number;
  readonly done: () => void;
}

interface Service {
  readonly loop: Thread;
  readonly store: Thread;
  readonly connection: Thread;
  open: number;
  /** Requests whose rows wait for the next commit, as what follows their commit. */
  rows: (() => void)[];
  commit: 'none' | 'due' | 'under way';
  committedAt: number;
}

/** Least time between two commits of a service, as `src/books/store/open-store.ts` has it. */
const commitEveryMs = 2;
/** Until then the callers, who all begin at once, are one crowd. */
const settlingShare = 0.2;

/**
 * Simulates callers who never pause. A request goes from the caller to Envoy, its service, the limits in Valkey, the service, Envoy,
 * the engine, Envoy, the service, waits for a commit of its ledger row, and goes back through the service and Envoy. Each of
 * these is a thread that does in a turn what has come until it begins, for a part that a turn costs and a part for each
 * request; where cores are shared, it waits for one first, in the order in which threads become ready. There is no chance in it.
 */
export function simulate({ costs, services, callers, cores, envoyThreads, seconds }: Farm): Forecast {
  const all: Thread[] = [];
  const thread = (part: Part): Thread => {
    const made: Thread = { part, waiting: [], state: 'idle', turns: 0, busyMs: 0 };
    all.push(made);
    return made;
  };
  // The bench is a process of callers and one of the engine.
  const [caller, engine] = [thread('bench'), thread('bench')];
  const valkey = thread('valkey');
  const workers = Array.from({ length: envoyThreads }, () => thread('envoy'));
  const farm = Array.from({ length: services }, (): Service => ({
    ...{ loop: thread('service'), store: thread('threads'), connection: thread('postgres') },
    ...{ open: 0, rows: [], commit: 'none', committedAt: -Infinity },
  }));
  const events = createEventQueue();
  const ready: Thread[] = [];
  let firstReady = 0;
  // A machine that others use, too, has a part of a core left: all cores are then that much slower.
  const whole = cores === undefined ? Infinity : Math.ceil(cores);
  const slowness = cores === undefined ? 1 : whole / cores;
  const fromMs = seconds * 1_000 * settlingShare;
  const untilMs = fromMs + seconds * 1_000;
  let now = 0;
  let running = 0;
  let answered = 0;

  const give = (to: Thread, step: Step): void => {
    to.waiting.push(step);
    if (to.state === 'idle') becomeReady(to);
  };
  const becomeReady = (one: Thread): void => {
    one.state = 'ready';
    ready.push(one);
  };
  const dispatch = (): void => {
    while (running < whole) {
      const next = ready[firstReady];
      if (next === undefined) return;
      firstReady += 1;
      if (firstReady > 1_000) firstReady -= ready.splice(0, firstReady).length;
      begin(next);
    }
  };
  const begin = (one: Thread): void => {
    const steps = one.waiting;
    one.waiting = [];
    one.state = 'running';
    running += 1;
    const beganAt = now;
    let until = now + slowness * costs[one.part].turn;
    for (const [index, { ms, done }] of steps.entries()) {
      until += slowness * ms;
      // What one step leads to goes on while the turn does the next ones.
      if (index < steps.length - 1) events.add(until, done);
      else events.add(until, () => end(one, { beganAt, done }));
    }
  };
  const end = (one: Thread, turn: { readonly beganAt: number; readonly done: () => void }) => {
    running -= 1;
    if (turn.beganAt >= fromMs) {
      one.turns += 1;
      one.busyMs += now - turn.beganAt;
    }
    one.state = 'idle';
    if (one.waiting.length > 0) becomeReady(one);
    turn.done();
  };

  const commitLater = (service: Service): void => {
    if (service.commit !== 'none' || service.rows.length === 0) return;
    service.commit = 'due';
    events.add(Math.max(now, service.committedAt + commitEveryMs), () => commit(service));
  };
  const commit = (service: Service): void => {
    const { rows, store, connection } = service;
    service.rows = [];
    service.commit = 'under way';
    service.committedAt = now;
    const acknowledge = (): void => {
      service.commit = 'none';
      for (const row of rows) row();
      commitLater(service);
    };
    // The store's turn is one for asking and being answered.
    give(store, {
      ms: rows.length * costs.threads.request,
      done: () => give(connection, { ms: rows.length * costs.postgres.request, done: acknowledge }),
    });
  };

  const request = (worker: Thread): void => {
    let service: Service | undefined;
    for (const one of farm) if (service === undefined || one.open < service.open) service = one;
    if (service === undefined) return;
    const its = service;
    its.open += 1;
    const envoyMs = costs.envoy.request / 4;
    const loopMs = costs.service.request / 4;
    const route: readonly (readonly [Thread, number])[] = [
      [worker, envoyMs],
      [its.loop, loopMs],
      [valkey, costs.valkey.request],
      [its.loop, loopMs],
      [worker, envoyMs],
      [engine, costs.bench.request / 2],
      [worker, envoyMs],
      [its.loop, loopMs],
    ];
    const finish = (): void => {
      give(its.loop, {
        ms: loopMs,
        done: () => {
          its.open -= 1;
          give(worker, {
            ms: envoyMs,
            done: () => {
              if (now >= fromMs) answered += 1;
              give(caller, { ms: costs.bench.request / 2, done: () => request(worker) });
            },
          });
        },
      });
    };
    const go = (at: number): void => {
      const next = route[at];
      if (next === undefined) {
        its.rows.push(finish);
        commitLater(its);
      } else give(next[0], { ms: next[1], done: () => go(at + 1) });
    };
    go(0);
  };

  for (let number = 0; number < callers; number += 1) {
    const worker = workers[number % workers.length];
    if (worker !== undefined) request(worker);
  }
  for (dispatch(); now < untilMs; dispatch()) {
    const next = events.next();
    if (next === undefined) break;
    now = next.at;
    next.run();
  }
  const tookMs = now - fromMs;
  const ofParts = (read: (same: readonly Thread[]) => number): Readonly<Record<Part, number>> =>
    byPart((part) => read(all.filter((one) => one.part === part)));
  const sum = (same: readonly Thread[], read: (one: Thread) => number): number =>
    same.reduce((total, one) => total + read(one), 0);
  return {
    requestsPerSecond: (answered * 1_000) / tookMs,
    cost: ofParts((same) => sum(same, ({ busyMs }) => busyMs) / slowness / answered),
    turns: ofParts((same) => sum(same, ({ turns }) => turns) / answered),
    busy: ofParts((same) => sum(same, ({ busyMs }) => busyMs) / tookMs / same.length),
  };
}
