/**
 * Probes the vectors of embedding models: whether all endpoints of all routes of a model make the same ones (docs/concepts/same-vectors.md).
 * Each replica probes for itself, because each decides which endpoints get its requests; the reference is one for all of them.
 */
import { type Model, type Route, routeKey, type Snapshot } from '../../core/catalog.ts';
import { type CancelTimer, type Clock, every, within } from '../../core/clock.ts';
import type { Endpoints } from '../../core/endpoint.ts';
import { messageOf } from '../../core/failure.ts';
import type { VectorsFault, VectorsFigure } from '../../core/observed-catalog.ts';
import type { VectorReference } from '../../core/vector-reference.ts';
import type { AskVectors, VectorsAnswer } from '../../gateway/core/ask-vectors.ts';
import { compareVectors, type ProbeVectors, type VectorVerdict } from '../../gateway/core/compare-vectors.ts';
import { digestOfTexts, probeTexts } from '../../gateway/core/vector-probe.ts';
import {
  admits,
  faultOfAnswer,
  isOwn,
  isTriedOnce,
  lowestSimilarity,
  madeBy,
  type ProbedPlace,
  type RouteVectors,
  takeEndpoints,
  vectorsFault,
} from './route-vectors.ts';
import type { ReferenceStore } from './store-port.ts';

interface VectorsOptions {
  readonly clock: Clock;
  readonly endpoints: Endpoints;
  readonly store: ReferenceStore;
  /** `OpenStore.changes`: references are read again only after a change, where the database reports all of them. */
  readonly changes: () => number | undefined;
  readonly ask: AskVectors;
  readonly log: {
    readonly warn: (record: object, text: string) => void;
    readonly info: (record: object, text: string) => void;
  };
}

export type VectorsWatch = ReturnType<typeof watchVectors>;

/** An endpoint whose vectors are known is probed again after this time. */
export const probeEveryMs = 3_600_000;
const lookEveryMs = 1_000;
/** How soon a service notices that an operator has accepted other vectors, or another replica has made a reference. */
const readEveryMs = 5_000;
/** Another replica, or a database that is down, is waited for as long. */
const soonMs = 1_000;
/** An endpoint without vectors is probed again after 1 s, then after twice as long each time, up to this time. */
const maxUnknownMs = 30_000;
/** An endpoint with vectors whose probe fails is probed again after this time. */
const failedMs = 60_000;
/** Most probes at a time. */
const maxAsked = 4;
/** Longest wait for the first probes at the start of a service. */
const firstRoundMs = 3_000;
/** The references are noted as used this often. */
const retainEveryMs = 12 * 3_600_000;

interface WatchState {
  readonly routes: Map<string, RouteVectors>;
  readonly references: Map<string, VectorReference>;
  /** Ids of the models whose references have been read, found or not. Without them, vectors could not be compared. */
  readonly read: Set<string>;
  isReading: boolean;
  readAt: number;
  /** `changes` before the last reading. */
  readChanges: number | undefined;
  retainedAt: number;
  asked: number;
  isOpen: boolean;
}

export function watchVectors(options: VectorsOptions) {
  const { clock, endpoints } = options;
  const state: WatchState = {
    ...{ routes: new Map(), references: new Map(), read: new Set(), isReading: false },
    ...{ readAt: -Infinity, readChanges: undefined, retainedAt: -Infinity, asked: 0, isOpen: false },
  };
  const firstRound = Promise.withResolvers<void>();
  let stop: CancelTimer | undefined;

  /** Looks now, and every second while there is an embedding model. */
  function keepLooking(): void {
    stop?.();
    if (state.isOpen && state.routes.size > 0) stop = every(clock, lookEveryMs, look);
    look();
  }

  function look(): void {
    const now = clock.elapsed();
    for (const of of state.routes.values()) takeEndpoints(of, endpoints.of(of.route.backend.cluster.name), now);
    if (!state.isOpen) return;
    if (isReadDue(state, now, options)) void readReferences(state, options).then(look);
    for (const [of, place] of duePlaces(state, now)) void probe(state, { of, place, options }).then(look);
    if ([...state.routes.values()].every(isTriedOnce)) firstRound.resolve();
  }

  const referenceOf = ({ model }: RouteVectors): VectorReference | undefined => state.references.get(model.id);
  return {
    /** Follows the embedding models of a new catalog. */
    follow: ({ models }: Pick<Snapshot, 'models'>): void => {
      followModels(state, models, clock.elapsed());
      keepLooking();
    },
    /** Begins to probe. Call it when Envoy has the clusters. Resolves after the first probes, or after 3 s. */
    begin: async (): Promise<void> => {
      state.isOpen = true;
      keepLooking();
      await within(firstRoundMs, clock, firstRound.promise);
    },
    /** Whether an endpoint of a route may get requests. Undefined: all of them, because its model makes no vectors. */
    admitted: (route: Route): ((endpoint: string) => boolean) | undefined => {
      const of = state.routes.size === 0 ? undefined : state.routes.get(routeKey(route));
      return of && ((endpoint) => admits(of, referenceOf(of), endpoint));
    },
    /** Probes routes at once, for example because an engine of theirs is back: it may be another one. */
    recheck: (routes: readonly Route[]): void => {
      for (const route of routes) {
        for (const place of state.routes.get(routeKey(route))?.places.values() ?? []) place.againAt = clock.elapsed();
      }
      look();
    },
    /** Routes with endpoints that get no requests because of their vectors, by the id of the route. */
    faults: (): ReadonlyMap<string, VectorsFault> =>
      new Map(
        [...state.routes.values()].flatMap((of) => {
          const fault = vectorsFault(of, referenceOf(of));
          return fault === undefined ? [] : [[of.route.id, fault] as const];
        }),
      ),
    figures: (): readonly VectorsFigure[] =>
      [...state.routes.values()].map((of) => {
        const verdicts = [...of.places.values()].flatMap(({ verdict }) => verdict ?? []);
        const isSame = verdicts.length === 0 ? undefined : verdicts.every(({ kind }) => kind === 'same');
        return { model: of.model.id, route: of.route.id, isSame, similarity: lowestSimilarity(of) };
      }),
    close: (): void => {
      state.isOpen = false;
      keepLooking();
    },
  };
}

/** Keeps what is known of routes that stay the same. A change of the model, or of a credential, lets them be probed again. */
function followModels(state: WatchState, models: ReadonlyMap<string, Model>, now: number): void {
  const before = new Map(state.routes);
  const followed = [...models.values()].filter(({ embedding }) => embedding !== undefined);
  state.routes.clear();
  for (const model of followed) {
    for (const route of model.routes) {
      const key = routeKey(route);
      const known = before.get(key);
      const isOnly = model.routes.length === 1;
      if (known === undefined || madeBy(known) !== madeBy({ model, route })) {
        state.routes.set(key, { model, route, isOnly, places: new Map() });
        continue;
      }
      const isSame = JSON.stringify([known.model.embedding, known.route]) === JSON.stringify([model.embedding, route]);
      known.model = model;
      known.route = route;
      known.isOnly = isOnly;
      if (!isSame) for (const place of known.places.values()) place.againAt = now;
      state.routes.set(key, known);
    }
  }
  const ids = new Set(followed.map(({ id }) => id));
  for (const id of state.references.keys()) if (!ids.has(id)) state.references.delete(id);
  for (const id of state.read) if (!ids.has(id)) state.read.delete(id);
  if (state.read.size < ids.size) state.readAt = -Infinity;
}

const nowhere: ReadonlyMap<string, ProbedPlace> = new Map();

/** The places that are due, at most as many as may be asked now. */
function duePlaces(
  { routes, read, asked }: WatchState,
  now: number,
): readonly (readonly [RouteVectors, ProbedPlace])[] {
  const due = [...routes.values()].flatMap((of) =>
    [...(read.has(of.model.id) ? of.places : nowhere).values()].flatMap((place) =>
      place.isAsked || place.againAt > now ? [] : [[of, place] as const],
    ),
  );
  return due.toSorted(([, a], [, b]) => a.againAt - b.againAt).slice(0, maxAsked - asked);
}

function isReadDue(state: WatchState, now: number, { changes }: Pick<VectorsOptions, 'changes'>): boolean {
  const { routes, read, isReading, readAt, readChanges } = state;
  if (routes.size === 0 || isReading || now - readAt < readEveryMs) return false;
  const isUnread = [...routes.values()].some(({ model }) => !read.has(model.id));
  return isUnread || readChanges === undefined || changes() !== readChanges;
}

/** Reads the references that have changed. Places that were compared with another one are due. Never rejects. */
async function readReferences(state: WatchState, { clock, store, changes, log }: VectorsOptions): Promise<void> {
  const before = changes();
  state.isReading = true;
  state.readAt = clock.elapsed();
  const ids = new Set([...state.routes.values()].map(({ model }) => model.id));
  try {
    const read = await store.readVectorReferences(new Map([...ids].map((id) => [id, state.references.get(id)?.since])));
    const found = new Map(read.map((reference) => [reference.modelId, reference]));
    for (const id of ids) {
      const reference = found.get(id);
      if (reference === undefined) state.references.delete(id);
      else if ('vectors' in reference && reference.since !== state.references.get(id)?.since)
        takeReference(state, reference, clock.elapsed());
    }
    for (const id of ids) state.read.add(id);
    state.readChanges = before;
    if (clock.elapsed() - state.retainedAt >= retainEveryMs) {
      await store.retainVectorReferences([...ids], clock.now());
      state.retainedAt = clock.elapsed();
    }
  } catch (error) {
    log.warn({ error: messageOf(error) }, 'reading reference vectors failed: keeping the previous results');
  } finally {
    state.isReading = false;
  }
}

function takeReference(state: WatchState, reference: VectorReference, now: number): void {
  state.references.set(reference.modelId, reference);
  for (const { model, places } of state.routes.values()) {
    if (model.id !== reference.modelId) continue;
    for (const place of places.values()) if (place.judgedBy !== reference.since) place.againAt = now;
  }
}

interface Probe {
  readonly of: RouteVectors;
  readonly place: ProbedPlace;
  readonly options: VectorsOptions;
}

/** Embeds the probe texts and compares. Never rejects. */
async function probe(state: WatchState, { of, place, options }: Probe): Promise<void> {
  const { clock, ask } = options;
  const { model, route, places } = of;
  const texts = probeTexts(model);
  place.isAsked = true;
  place.againAt = Infinity;
  state.asked += 1;
  const answer = await ask({ model, route }, { endpoint: place.endpoint, texts });
  const isPresent = state.routes.get(routeKey(route)) === of && [...places.values()].includes(place);
  if (isPresent) {
    const waitMs = await judge(state, { of, place, options, texts, answer });
    place.againAt = clock.elapsed() + waitMs;
  }
  place.isAsked = false;
  place.isTried = true;
  state.asked -= 1;
}

/** A failed probe says nothing about vectors. Returns after how long it is repeated. */
function failed(place: ProbedPlace, why: string): number {
  place.failure = why;
  place.failures += 1;
  if (place.verdict !== undefined) return failedMs;
  return Math.min(maxUnknownMs, soonMs * 2 ** (place.failures - 1));
}

/** Compares the vectors of a place with the reference, which they become if there is none. Returns after how long it is probed again. */
async function judge(
  state: WatchState,
  { of, place, options, texts, answer }: Probe & { readonly texts: readonly string[]; readonly answer: VectorsAnswer },
): Promise<number> {
  if (answer.kind === 'failed') return failed(place, answer.why);
  const { model } = of;
  const { dimensions = 0, minSimilarity = 1 } = model.embedding ?? {};
  place.failure = undefined;
  place.failures = 0;
  const bounds = { dimensions, minSimilarity };
  const fault = faultOfAnswer(answer, bounds);
  if (fault !== undefined || answer.kind === 'wrong-length') {
    if (fault !== undefined) take(place, { of, options, verdict: fault });
    return probeEveryMs;
  }
  const { vectors } = answer;
  const digest = digestOfTexts(texts);
  let reference = state.references.get(model.id);
  if (reference === undefined || reference.isAwaited || reference.texts !== digest) {
    reference = await becomeReference(state, { of, options, vectors, texts: digest });
    if (reference === undefined || reference.isAwaited || reference.texts !== digest) return soonMs;
  }
  place.judgedBy = reference.since;
  take(place, { of, options, verdict: compareVectors(vectors, reference.vectors, bounds) });
  return probeEveryMs;
}

/** Offers vectors as the reference. Returns the one that counts; undefined: another route is to make it, or the database is down. */
async function becomeReference(
  state: WatchState,
  {
    of,
    options: { clock, store, log },
    vectors,
    texts,
  }: Pick<Probe, 'of' | 'options'> & { readonly vectors: ProbeVectors; readonly texts: string },
): Promise<VectorReference | undefined> {
  const { model, route } = of;
  const before = state.references.get(model.id);
  const mayMake = before === undefined || isOwn(of, before) || !model.routes.some(({ id }) => id === before.routeId);
  if (!mayMake) return undefined;
  const { upstreamModel } = route;
  const dimensions = vectors[0]?.length ?? 0;
  try {
    const reference = await store.keepVectorReference(
      { modelId: model.id, routeId: route.id, upstreamModel, texts, dimensions, since: clock.now(), vectors },
      before?.since,
    );
    takeReference(state, reference, clock.elapsed());
    log.info({ model: model.id, route: reference.routeId }, 'reference vectors stored');
    return reference;
  } catch (error) {
    log.warn({ model: model.id, error: messageOf(error) }, 'writing reference vectors failed');
    return undefined;
  }
}

/** Takes a verdict, and logs it if it is another one than before. */
function take(
  place: ProbedPlace,
  { of, options: { log }, verdict }: Pick<Probe, 'of' | 'options'> & { readonly verdict: VectorVerdict },
): void {
  const before = place.verdict?.kind;
  place.verdict = verdict;
  if (before === verdict.kind) return;
  const record = { model: of.model.id, route: of.route.id, endpoint: place.endpoint.name };
  if (verdict.kind === 'same') {
    if (before !== undefined)
      log.info({ ...record, lowest: verdict.lowest }, 'endpoint vectors match the reference again');
    return;
  }
  const { finding, explanation } = verdict;
  log.warn({ ...record, finding, explanation }, 'endpoint vectors differ from the reference: removed from routing');
}
