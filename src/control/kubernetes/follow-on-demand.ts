import type { CancelTimer, Clock } from '../../core/clock.ts';
import {
  type Endpoint,
  type FollowEndpoints,
  type FoundEndpoints,
  isSameEndpoints,
  type Scheme,
} from '../../core/endpoint.ts';
import { type Collection, reportTroubleChanges, type Trouble } from './collection.ts';

/** Endpoints by source and scheme (`WatchedKinds.keyOf`). */
export type EndpointsBySource = ReadonlyMap<string, readonly Endpoint[]>;

/** What a follower needs to know of its surroundings. */
export interface FollowerOptions {
  readonly clock: Clock;
  /** The endpoints that were known last. They are used until the API server answers. */
  readonly kept: EndpointsBySource;
  /** The endpoints of a source have changed. */
  readonly onChange: () => void;
  /** The reasons why endpoints may be out of date have changed; none: every change arrives. */
  readonly onTroubles: (troubles: readonly Trouble[]) => void;
}

/** Follows sources of one kind on demand. The API server is asked as long as one source is followed. */
export interface EndpointsFollower<Source> {
  readonly follow: FollowEndpoints<Source>;
  /** The endpoints of all sources that are followed, as far as they are known. */
  readonly known: () => EndpointsBySource;
  /** When the endpoints were known to be complete (`Clock.now`): undefined for never, Infinity while no source is followed. */
  readonly inStepAt: () => number | undefined;
  readonly close: () => Promise<void>;
}

/** One source that is followed. */
interface Wanted<Source> {
  readonly source: Source;
  readonly scheme: Scheme;
  /** Whether the API server has not answered in time. */
  readonly isLate: boolean;
}

/** How the endpoints of a source are computed now, and from what. They are computed again only when an input has changed. */
interface Computation {
  readonly inputs: readonly unknown[];
  readonly endpoints: () => FoundEndpoints;
}

/** The watches of a follower at the API server. */
export interface Watches<Source> {
  /** The collections, each with the subject of its troubles. */
  readonly collections: () => ReadonlyMap<string, Collection<unknown>>;
  /** Undefined: the needed objects are not listed yet. */
  readonly compute: (wanted: Wanted<Source>) => Computation | undefined;
  /** Called before each look, and when a source is left: the sources that are followed now. */
  readonly want?: (sources: readonly Source[]) => void;
  /** See `EndpointsFollower`. */
  readonly inStepAt: () => number | undefined;
  /** Ends all watches. */
  readonly close: () => Promise<unknown>;
}

/** The objects of the API server that a kind of source needs. */
interface WatchedKinds<Source> {
  /** The field of a Backend that names the source. */
  readonly field: string;
  /** Describes why an object cannot be read, in one sentence that begins in lowercase. */
  readonly describe: (trouble: unknown) => string;
  /** Identifies a source and its scheme in `known` and `kept`. */
  readonly keyOf: (wanted: Pick<Wanted<Source>, 'source' | 'scheme'>) => string;
  /** Starts the watches. `onChange`: an object, or a trouble, has changed. */
  readonly watch: (onChange: () => void) => Watches<Source>;
}

/**
 * The API server answers in milliseconds. If it has not answered after this time, the last known endpoints are used.
 */
const answerTimeoutMs = 1_000;
/** Troubles that last less than this are not reported: a watch that opens or breaks off is in trouble for a moment. */
const quietMs = 250;
/**
 * After a change of a source, further changes are gathered for this time, per thousand endpoints of that source. Pods
 * that come and go by the hundred, or whose readiness flaps, make many changes a second, and writing 5,000 endpoints
 * for Envoy takes 27 ms.
 */
const gatherMs = 50;
const gatheredTogether = 1_000;

interface Followed<Source> extends Wanted<Source> {
  readonly onFound: (found: FoundEndpoints) => void;
  readonly cancelTimeout: CancelTimer;
  isLate: boolean;
  /** The inputs that the endpoints were computed from. */
  inputs: readonly unknown[] | undefined;
  found: FoundEndpoints | undefined;
}

export function followOnDemand<Source>(
  kinds: WatchedKinds<Source>,
  options: FollowerOptions,
): EndpointsFollower<Source> {
  const { clock } = options;
  const all = new Set<Followed<Source>>();
  const ending = new Set<Promise<unknown>>();
  let watches: Watches<Source> | undefined;
  let cancelTroubles: CancelTimer | undefined;
  const reportChanges = reportTroubleChanges(options.onTroubles, []);
  const gathering = createGathering(clock, lookAtAll);

  function changed(): void {
    // A watch may still report while it is being closed.
    if (watches === undefined) return;
    cancelTroubles ??= clock.after(quietMs, reportTroubles);
    gathering.changed();
  }

  /** Returns the most endpoints of a source that has changed. Undefined: none has. */
  function lookAtAll(): number | undefined {
    want();
    const changes = [...all].filter(lookAt).map(({ found }) => found?.endpoints.length ?? 0);
    return changes.length > 0 ? Math.max(...changes) : undefined;
  }

  /** Computes the endpoints of a source if one of their inputs has changed. Returns whether it did. */
  function lookAt(one: Followed<Source>): boolean {
    if (watches === undefined) return false;
    const computation = watches.compute(one);
    if (computation === undefined) {
      // Known endpoints are used until there are others.
      if (one.isLate && (one.found === undefined || one.found.endpoints.length === 0))
        publish(one, lastKnown(kinds, { watches, endpoints: one.found ? [] : options.kept.get(kinds.keyOf(one)) }));
      return false;
    }
    if (one.inputs !== undefined && isSame(one.inputs, computation.inputs)) return false;
    one.inputs = computation.inputs;
    publish(one, computation.endpoints());
    return true;
  }

  function want(): void {
    watches?.want?.([...all].map(({ source }) => source));
  }

  function publish(one: Followed<Source>, found: FoundEndpoints): void {
    if (one.found !== undefined && isSameFound(one.found, found)) return;
    one.found = found;
    one.onFound(found);
    options.onChange();
  }

  function reportTroubles(): void {
    cancelTroubles = undefined;
    reportChanges(watches?.collections() ?? new Map());
  }

  function end(): void {
    if (watches === undefined) return;
    const closed = watches.close();
    watches = undefined;
    cancelTroubles?.();
    cancelTroubles = undefined;
    gathering.cancel();
    const ended = closed.finally(() => ending.delete(ended));
    ending.add(ended);
  }

  function leave(one: Followed<Source>): void {
    one.cancelTimeout();
    all.delete(one);
    if (all.size === 0) end();
    else want();
  }

  return {
    follow: (source, { scheme, onFound }) => {
      const one: Followed<Source> = {
        ...{ source, scheme, onFound, isLate: false, inputs: undefined, found: undefined },
        cancelTimeout: clock.after(answerTimeoutMs, () => {
          one.isLate = true;
          lookAt(one);
        }),
      };
      all.add(one);
      watches ??= kinds.watch(changed);
      want();
      lookAt(one);
      return () => leave(one);
    },
    known: () =>
      new Map([...all].flatMap((one) => (one.found === undefined ? [] : [[kinds.keyOf(one), one.found.endpoints]]))),
    inStepAt: () => (watches === undefined ? Infinity : watches.inStepAt()),
    close: async () => {
      for (const one of all) leave(one);
      await Promise.all(ending);
    },
  };
}

function isSameFound(before: FoundEndpoints, now: FoundEndpoints): boolean {
  return before.trouble === now.trouble && isSameEndpoints(before.endpoints, now.endpoints);
}

function isSame(before: readonly unknown[], now: readonly unknown[]): boolean {
  return before.length === now.length && before.every((input, index) => input === now[index]);
}

/** The endpoints that are used until the API server answers. */
function lastKnown<Source>(
  { field, describe }: WatchedKinds<Source>,
  known: { readonly watches: Watches<Source>; readonly endpoints: readonly Endpoint[] | undefined },
): FoundEndpoints {
  const { watches, endpoints = [] } = known;
  if (endpoints.length > 0) return { endpoints, trouble: undefined };
  const reason = describe([...watches.collections().values()].map((each) => each.trouble()).find(Boolean));
  return { endpoints, trouble: `${field}: not known yet: ${reason}` };
}

/** Gathers changes. `look`: looks at all of them; its result is the most endpoints of a source that has changed. */
function createGathering(clock: Clock, look: () => number | undefined) {
  let cancelTimer: CancelTimer | undefined;
  let isBehind = false;

  function lookNow(): void {
    isBehind = false;
    const most = look();
    if (most === undefined) return;
    cancelTimer = clock.after(gatherMs * Math.max(1, most / gatheredTogether), () => {
      cancelTimer = undefined;
      if (isBehind) lookNow();
    });
  }

  return {
    changed: (): void => {
      isBehind = true;
      if (cancelTimer === undefined) lookNow();
    },
    cancel: (): void => {
      cancelTimer?.();
      cancelTimer = undefined;
    },
  };
}
