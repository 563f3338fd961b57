/** Processor time of one request, ms, by the part that spends it. What the simulation assumes, and all of it is measured. */
export interface Demand {
  readonly bench: number;
  readonly envoy: number;
  /** On the event loop of the service that has the request. */
  readonly serviceLoop: number;
  /** On the other threads of that service. */
  readonly serviceThreads: number;
  readonly postgres: number;
  readonly valkey: number;
}

export interface Farm {
  readonly demand: Demand;
  /** Services, over which requests go to the one with the fewest. */
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
  /** Share of the time in which a part is at work, from 0 to 1, for one of its servers. */
  readonly busy: Readonly<Record<Part, number>>;
}

type Part = 'bench' | 'envoy' | 'service' | 'threads' | 'postgres' | 'valkey';

/** Programs that do one thing at a time are one server. PostgreSQL has a process per connection, and the bench several threads. */
const manyServers = 64;

interface Station {
  readonly part: Part;
  readonly servers: number;
  busy: number;
  readonly waiting: Visit[];
  busyMs: number;
}

/** One piece of work of one request. */
interface Visit {
  readonly station: Station;
  readonly ms: number;
  readonly done: () => void;
}

/**
 * Simulates callers who never pause. A request is a row of visits: the caller, Envoy, the limits in Valkey, the service, Envoy
 * again on its way to the engine and back, the service again, the ledger row in PostgreSQL, Envoy, the caller. Each visit needs
 * its program and, where cores are shared, one of them; who came first is served first. There is no chance in it.
 */
export function simulate({ demand, services, callers, cores, envoyThreads, seconds }: Farm): Forecast {
  const station = (part: Part, servers: number): Station => ({ part, servers, busy: 0, waiting: [], busyMs: 0 });
  const bench = station('bench', manyServers);
  const envoy = station('envoy', envoyThreads);
  const postgres = station('postgres', manyServers);
  const valkey = station('valkey', 1);
  const loops = Array.from({ length: services }, () => station('service', 1));
  const threads = Array.from({ length: services }, () => station('threads', 1));
  const all = [bench, envoy, postgres, valkey, ...loops, ...threads];
  const open = loops.map(() => 0);
  const events = createEventQueue();
  const ready: Visit[] = [];
  // A machine that others use, too, has a part of a core left: all cores are then that much slower.
  const whole = cores === undefined ? Infinity : Math.ceil(cores);
  const slowness = cores === undefined ? 1 : whole / cores;
  const untilMs = seconds * 1_000;
  let now = 0;
  let running = 0;
  let answered = 0;

  const arrive = (visit: Visit): void => {
    if (visit.station.busy >= visit.station.servers) visit.station.waiting.push(visit);
    else {
      visit.station.busy += 1;
      ready.push(visit);
    }
  };
  const dispatch = (): void => {
    while (running < whole) {
      const visit = ready.shift();
      if (visit === undefined) return;
      running += 1;
      const tookMs = visit.ms * slowness;
      visit.station.busyMs += tookMs;
      events.add(now + tookMs, () => {
        running -= 1;
        visit.station.busy -= 1;
        const next = visit.station.waiting.shift();
        if (next !== undefined) arrive(next);
        visit.done();
      });
    }
  };
  const request = (): void => {
    const fewest = open.reduce((least, count, at) => (count < (open[least] ?? 0) ? at : least), 0);
    const [loop, others] = [loops[fewest], threads[fewest]];
    if (loop === undefined || others === undefined) return;
    open[fewest] = (open[fewest] ?? 0) + 1;
    const visits: readonly (readonly [Station, number])[] = [
      [bench, demand.bench / 3],
      [envoy, demand.envoy / 3],
      [loop, demand.serviceLoop / 3],
      [valkey, demand.valkey],
      [loop, demand.serviceLoop / 3],
      [envoy, demand.envoy / 3],
      [bench, demand.bench / 3],
      [loop, demand.serviceLoop / 3],
      [others, demand.serviceThreads],
      [postgres, demand.postgres],
      [envoy, demand.envoy / 3],
      [bench, demand.bench / 3],
    ];
    const go = (at: number): void => {
      const visit = visits[at];
      if (visit !== undefined) {
        arrive({ station: visit[0], ms: visit[1], done: () => go(at + 1) });
        return;
      }
      open[fewest] = (open[fewest] ?? 0) - 1;
      answered += 1;
      request();
    };
    go(0);
  };

  for (let caller = 0; caller < callers; caller += 1) request();
  for (dispatch(); now < untilMs; dispatch()) {
    const next = events.next();
    if (next === undefined) break;
    now = next.at;
    next.run();
  }
  const busyOf = (part: Part): number => {
    const same = all.filter((one) => one.part === part);
    return same.reduce((sum, one) => sum + one.busyMs / (now * Math.min(one.servers, callers)), 0) / same.length;
  };
  return {
    requestsPerSecond: (answered * 1_000) / now,
    busy: {
      bench: busyOf('bench'),
      envoy: busyOf('envoy'),
      service: busyOf('service'),
      threads: busyOf('threads'),
      postgres: busyOf('postgres'),
      valkey: busyOf('valkey'),
    },
  };
}

interface Event {
  readonly at: number;
  readonly run: () => void;
}

/** A binary heap by time; of two events at one time the earlier one comes first. */
function createEventQueue(): {
  readonly add: (at: number, run: () => void) => void;
  readonly next: () => Event | undefined;
} {
  const heap: (Event & { readonly order: number })[] = [];
  let order = 0;
  const isBefore = (a: number, b: number): boolean => {
    const [one, two] = [heap[a], heap[b]];
    if (one === undefined || two === undefined) return false;
    return one.at < two.at || (one.at === two.at && one.order < two.order);
  };
  const swap = (a: number, b: number): void => {
    const [one, two] = [heap[a], heap[b]];
    if (one === undefined || two === undefined) return;
    heap[a] = two;
    heap[b] = one;
  };
  return {
    add: (at, run) => {
      order += 1;
      heap.push({ at, run, order });
      for (let child = heap.length - 1; child > 0;) {
        const parent = (child - 1) >> 1;
        if (!isBefore(child, parent)) return;
        swap(child, parent);
        child = parent;
      }
    },
    next: () => {
      const [first] = heap;
      const last = heap.pop();
      if (first === undefined || last === undefined || heap.length === 0) return first;
      heap[0] = last;
      for (let parent = 0; ;) {
        const [left, right] = [2 * parent + 1, 2 * parent + 2];
        const child = isBefore(right, left) ? right : left;
        if (!isBefore(child, parent)) return first;
        swap(child, parent);
        parent = child;
      }
    },
  };
}
