/** Asks Backends for their models: each once, and one that is not well until it is. An answer ends the faults it rules out. */
import type { Route } from '../../core/catalog.ts';
import { type Cause, ofConnection } from '../../core/cause.ts';
import { type CancelTimer, type Clock, every } from '../../core/clock.ts';
import type { Endpoint, Endpoints } from '../../core/endpoint.ts';
import { causeOf } from '../../core/fault-cause.ts';
import { askModels, type ModelsAnswer, type ReadError } from '../../gateway/egress/ask-models.ts';
import type { LiveHealth } from '../../gateway/routing/health/health.ts';

/** The newest answer of a Backend. */
export interface Probe {
  /** By `Clock.elapsed`. */
  readonly at: number;
  /** When the Backend began to fail, or to answer. A request that was answered since then says more than the list of models. */
  readonly since: number;
  readonly answer: ModelsAnswer;
}

interface ProbesOptions {
  readonly clock: Pick<Clock, 'after' | 'elapsed'>;
  readonly endpoints: Endpoints;
  /** Finds the Backends that are not well, and learns of those that are again. */
  readonly health: Pick<LiveHealth, 'record' | 'ejected' | 'recovered'>;
  /** Called with the routes of a Backend that failed and answers again. */
  readonly onRecovered?: ((routes: readonly Route[]) => void) | undefined;
  /** Reads the body of an engine's error. */
  readonly readError: ReadError;
  readonly ask?: typeof askModels;
}

export type Probes = ReturnType<typeof watchBackends>;

const lookEveryMs = 2_000;
/** From a new catalog to the first look: its endpoints are found meanwhile. */
const firstLookMs = 200;
/** Shortest time between two questions to a Backend that is not well. */
export const askEveryMs = 10_000;
/** Most endpoints of a Backend that are asked, one after the other, until one answers. */
const maxEndpoints = 3;
/** Most Backends that are asked in one look. */
const maxAsked = 20;

/** The name of a cluster changes with its content, so a Backend that changes is asked again. */
export function watchBackends(options: ProbesOptions) {
  const { clock, endpoints, health, readError, onRecovered, ask = askModels } = options;
  let followed: ReadonlyMap<string, readonly Route[]> = new Map();
  const probes = new Map<string, Probe>();
  const asking = new Set<string>();
  /** The causes of endpoints whose last answer was a failure, by cluster. */
  const failed = new Map<string, Map<string, Cause>>();
  const changed = watchChanges(options);
  let turn = 0;

  const ejectedOf = (routes: readonly Route[]): ReadonlySet<string> => new Set(routes.flatMap(health.ejected));

  const isFailing = (routes: readonly Route[]): boolean =>
    routes.some((route) => health.record(route).failing !== undefined) || ejectedOf(routes).size > 0;

  const isDue = (name: string, routes: readonly Route[]): boolean => {
    const last = probes.get(name);
    if (asking.has(name) || endpoints.of(name).length === 0) return false;
    if (last === undefined) return true;
    return clock.elapsed() - last.at >= askEveryMs && (last.answer.kind === 'fails' || isFailing(routes));
  };

  /** The endpoints to ask: first those that get no requests, so that an answer gives them back. */
  function endpointsToAsk(name: string, ejected: ReadonlySet<string>): readonly Endpoint[] {
    const all = endpoints.of(name);
    const from = (turn += 1) % all.length;
    const rotated = [...all.slice(from), ...all.slice(0, from)];
    return rotated.toSorted((a, b) => Number(ejected.has(b.name)) - Number(ejected.has(a.name))).slice(0, maxEndpoints);
  }

  async function probe(name: string, routes: readonly Route[], { backend }: Route): Promise<void> {
    const ejected = ejectedOf(routes);
    const down = failed.getOrInsertComputed(name, () => new Map<string, Cause>());
    asking.add(name);
    let answer: ModelsAnswer | undefined;
    for (const { name: endpoint, authority } of endpointsToAsk(name, ejected)) {
      // One endpoint of several that fails is not the Backend.
      if (answer !== undefined && answer.kind !== 'fails' && !ejected.has(endpoint)) break;
      const own = await ask(backend, { endpoint, authority, read: readError });
      if (answer === undefined || answer.kind === 'fails') answer = own;
      if (own.kind === 'fails') down.set(endpoint, own.cause);
      else recover(routes, endpoint, { answer: own, before: down.get(endpoint) });
      if (own.kind !== 'fails') down.delete(endpoint);
    }
    asking.delete(name);
    const last = probes.get(name);
    if (answer === undefined || !followed.has(name)) return;
    probes.set(name, nextProbe(last, { at: clock.elapsed(), answer }));
  }

  /** An endpoint that failed when it was asked, and lists its models now, has been repaired. */
  function recover(
    routes: readonly Route[],
    endpoint: string,
    { answer, before }: { readonly answer: ModelsAnswer; readonly before: Cause | undefined },
  ): void {
    const repairedFrom = answer.kind === 'lists' ? before : undefined;
    const wasFailing = isFailing(routes);
    for (const route of routes) health.recovered(route, endpoint, (fault) => isOver(causeOf(fault), repairedFrom));
    if ((wasFailing || repairedFrom !== undefined) && !isFailing(routes)) onRecovered?.(routes);
  }

  function look(): void {
    const due = [...followed].filter(([name, routes]) => isDue(name, routes)).slice(0, maxAsked);
    for (const [name, routes] of due) if (routes[0] !== undefined) void probe(name, routes, routes[0]);
  }
  const stop = every(clock, lookEveryMs, look);
  let cancelFirst: CancelTimer = () => undefined;

  return {
    /** Follows the routes of a new catalog. */
    follow: (routes: readonly Route[]): void => {
      for (const cluster of changed(routes)) probes.delete(cluster);
      // A question past a forward proxy would say nothing about requests.
      const direct = routes.filter(({ backend }) => backend.cluster.proxy === undefined);
      followed = Map.groupBy(direct, ({ backend }) => backend.cluster.name);
      cancelFirst();
      cancelFirst = clock.after(firstLookMs, look);
      for (const known of [probes, failed]) {
        for (const name of known.keys()) if (!followed.has(name)) known.delete(name);
      }
    },
    /** The newest answer; undefined: it has not been asked, or has changed since. */
    of: (cluster: string): Probe | undefined => probes.get(cluster),
    /** Whether the Backend of a route cannot answer requests, by the newest answer, and has answered none since. */
    isDown: (route: Route): boolean => {
      const last = probes.get(route.backend.cluster.name);
      if (last?.answer.kind !== 'fails' || last.answer.cause === 'silent') return false;
      return (health.record(route).answeredAt ?? -Infinity) <= last.since;
    },
    close: (): void => {
      cancelFirst();
      stop();
    },
  };
}

/** Any answer shows a connection. An engine that is silent to requests may list its models all the while. */
const isOver = (cause: Cause, repairedFrom: Cause | undefined): boolean =>
  ofConnection.has(cause) || (repairedFrom !== undefined && (cause !== 'silent' || repairedFrom === 'silent'));

/** A Backend that fails as it did before keeps the sentence of then, as `withSteadySentence` does. */
function nextProbe(last: Probe | undefined, { at, answer }: Pick<Probe, 'at' | 'answer'>): Probe {
  if (last === undefined || (last.answer.kind === 'fails') !== (answer.kind === 'fails')) {
    return { at, since: at, answer };
  }
  const { since, answer: before } = last;
  if (answer.kind !== 'fails' || before.kind !== 'fails' || before.said === undefined) return { at, since, answer };
  const isEqual = answer.cause === before.cause && answer.status === before.status;
  return { at, since, answer: isEqual ? before : answer };
}

/**
 * Watches the routes of each new catalog. One that sends other requests than before, for example with another key, is tried
 * anew. Returns the names of the clusters of such routes.
 */
function watchChanges({ endpoints, health }: ProbesOptions): (routes: readonly Route[]) => readonly string[] {
  let sent: ReadonlyMap<string, string> = new Map();
  return (routes) => {
    const before = sent;
    sent = new Map(routes.map((route) => [keyOf(route), sentBy(route)]));
    return routes.flatMap((route) => {
      const last = before.get(keyOf(route));
      if (last === undefined || last === sent.get(keyOf(route))) return [];
      const { name: cluster } = route.backend.cluster;
      for (const { name } of endpoints.of(cluster)) health.recovered(route, name, () => true);
      return [cluster];
    });
  };
}

const keyOf = ({ id, backend }: Route): string => `${id} ${backend.cluster.name}`;

/** The parts of a route's requests that do not change the name of its cluster. */
const sentBy = ({ backend: { engine, path, headers, query }, upstreamModel, capabilities }: Route): string =>
  JSON.stringify([engine, path, headers, query, upstreamModel, capabilities]);
