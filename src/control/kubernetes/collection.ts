import * as z from 'zod';
import { createBackOff } from '../../core/back-off.ts';
import type { Clock } from '../../core/clock.ts';
import { AnswerTooLarge, isRefusal, type KubeClient, sentenceOf } from './client.ts';

export interface CollectionOptions<Item> {
  readonly client: Pick<KubeClient, 'list' | 'watch'>;
  /** Where the API server has the objects, such as `/apis/weir.dev/v1alpha1/namespaces/a/models`. */
  readonly path: string;
  /** Only the selected objects are listed and watched. */
  readonly selected?: { readonly fieldSelector?: string; readonly labelSelector?: string };
  readonly clock: Clock;
  /** 0 ≤ x < 1, for jitter. */
  readonly random: () => number;
  /** Reads the needed part of an object. Returning the known item means that nothing has changed. */
  readonly read: (raw: unknown, known: ReadonlyMap<string, Item>) => { readonly name: string; readonly item: Item };
  /** Items have changed or are gone, or the trouble has changed. */
  readonly onChange: (changed: readonly Item[]) => void;
}

/** The objects of one kind, in step with the API server. */
export interface Collection<Item> {
  readonly items: () => ReadonlyMap<string, Item>;
  /** Whether the objects have been listed once. Until then there are no items. */
  readonly isListed: () => boolean;
  /** Why items may be out of date; undefined while every change arrives. */
  readonly trouble: () => unknown;
  /** When the items were last in step with the server (`Clock.now`); undefined: never. */
  readonly inStepAt: () => number | undefined;
  readonly close: () => Promise<void>;
}

/** Why something that is followed may be out of date. */
export interface Trouble {
  /** `models`, `backends`, `NAMESPACE/workspaces`, `secrets/NAME`, `endpointslices`, `services`, `inferencepools` or `pods (SELECTOR)`. */
  readonly of: string;
  readonly reason: string;
}

/** The trouble of a collection until the first attempt to list it has ended. */
const notTriedYet = new Error('not connected yet');

/** Collections, each with the subject (`of`) of its troubles. */
type NamedCollections = Iterable<readonly [of: string, collection: Collection<unknown>]>;

/**
 * Returns a function that reports the troubles of collections if they differ from the last report. `reported`: the
 * troubles that count as reported; undefined: the first ones are always reported.
 */
export function reportTroubleChanges(
  onTroubles: (troubles: readonly Trouble[]) => void,
  reported: readonly Trouble[] | undefined,
): (collections: NamedCollections) => void {
  let reportedText = JSON.stringify(reported);
  return (collections) => {
    const found = [...collections].flatMap(([of, collection]) => {
      const trouble = collection.trouble();
      return trouble === undefined ? [] : [{ of, trouble }];
    });
    const tried = found.filter(({ trouble }) => trouble !== notTriedYet);
    // While the first connection is being made, it is unknown whether there is trouble.
    if (tried.length === 0 && found.length > 0) return;
    const troubles = tried.map(({ of, trouble }): Trouble => ({ of, reason: sentenceOf(trouble) }));
    const text = JSON.stringify(troubles);
    if (text === reportedText) return;
    reportedText = text;
    onTroubles(troubles);
  };
}

/** When all of these were in step with the server (`Clock.now`): undefined for never, Infinity if there are none. */
export function allInStepAt(collections: Iterable<Collection<unknown>>): number | undefined {
  let earliest = Infinity;
  for (const collection of collections) {
    const at = collection.inStepAt();
    if (at === undefined) return undefined;
    earliest = Math.min(earliest, at);
  }
  return earliest;
}

/** Smaller where objects are so large that a page is too large. An object can have 1.5 MB. */
const maxPageSize = 500;
/** The server is asked to end a watch after five to ten minutes, so that replicas spread over the servers of a cluster. */
const watchSeconds = 300;
/** A server may end a watch so much sooner than it was asked to. */
const soonerMs = 2000;
/** A watch that ends sooner than this counts as failed. */
const soundMs = 1000;

const page = z.object({
  metadata: z.object({ resourceVersion: z.string(), continue: z.string().optional() }),
  items: z.array(z.unknown()),
});
const event = z.object({ type: z.string(), object: z.looseObject({}) });
const versioned = z.object({ metadata: z.object({ resourceVersion: z.string() }) });
const failure = z.object({ code: z.number().default(0), message: z.string().default('') });

/** `since`: monotonic, so that setting the wall clock does not change ages; undefined: never in step. */
type State = { readonly kind: 'in-step' } | { readonly kind: 'behind'; readonly since: number | undefined };

/** The server no longer has the version from which the watch would continue. */
class Expired extends Error {}

/**
 * Lists the objects of one kind and watches them from there on, until closed. A watch that ends when it was asked to
 * continues where it was. After any other end the objects are listed again: the server may have been restored from a
 * backup, and a watch from a version that it does not have yet stays silent. After a failed attempt it waits, longer each
 * time.
 */
export function followCollection<Item>(options: CollectionOptions<Item>): Collection<Item> {
  const { client, clock, read, onChange } = options;
  const items = new Map<string, Item>();
  const over = new AbortController();
  const backOff = createBackOff({ ...options, signal: over.signal });
  let version: string | undefined;
  let state: State = { kind: 'behind', since: undefined };
  let trouble: unknown = notTriedYet;
  let listed = false;

  async function list(): Promise<void> {
    const begun = clock.elapsed();
    const found = new Map<string, Item>();
    for await (const { items: raws, metadata } of pagesOf(options, over.signal)) {
      for (const raw of raws) {
        const { name, item } = read(raw, items);
        found.set(name, item);
      }
      version = metadata.resourceVersion;
    }
    const gone = [...items].filter(([name]) => !found.has(name));
    const changed = [...found].filter(([name, item]) => items.get(name) !== item);
    items.clear();
    for (const [name, item] of found) items.set(name, item);
    listed = true;
    // Without this, the age of the items is unknown if the watch does not open.
    if (state.kind === 'behind') state = { kind: 'behind', since: begun };
    onChange([...gone, ...changed].map(([, item]) => item));
  }

  /** Applies one event of the watch. */
  function take(line: string): void {
    const { type, object } = readEvent(line);
    version = versioned.parse(object).metadata.resourceVersion;
    if (type === 'BOOKMARK') return;
    const { name, item } = read(object, items);
    if (type === 'DELETED') items.delete(name);
    else if (items.get(name) === item) return;
    else items.set(name, item);
    onChange([item]);
  }

  /** Resolves when the server ends the watch: whether at the time that it was asked for. */
  async function watch(): Promise<boolean> {
    const begun = clock.elapsed();
    const seconds = Math.round(watchSeconds * (1 + options.random()));
    await client.watch(watchPath(options, { version, seconds }), {
      signal: over.signal,
      onOpen: () => {
        state = { kind: 'in-step' };
        const wasTroubled = trouble !== undefined;
        trouble = undefined;
        if (wasTroubled) onChange([]);
      },
      onLine: take,
    });
    return clock.elapsed() - begun >= seconds * 1000 - soonerMs;
  }

  async function follow(): Promise<void> {
    while (!over.signal.aborted) {
      const begun = clock.elapsed();
      try {
        if (version === undefined) await list();
        const isInTime = await watch();
        if (!isInTime) version = undefined;
        if (clock.elapsed() - begun < soundMs) throw new Error('the watch ended at once');
        backOff.reset();
      } catch (error) {
        if (over.signal.aborted) return;
        version = undefined;
        const isExpired = error instanceof Expired || isRefusal(error, 410);
        // If a watch went well for a while, the next one follows at once. Only repeated failures lead to a wait.
        const wasSound = state.kind === 'in-step' && clock.elapsed() - begun >= soundMs;
        if (isExpired && wasSound) continue;
        if (state.kind === 'in-step') state = { kind: 'behind', since: clock.elapsed() };
        if (wasSound) backOff.reset();
        trouble = error;
        onChange([]);
        await backOff.wait();
      }
    }
  }

  const running = follow();
  return {
    items: () => items,
    isListed: () => listed,
    trouble: () => trouble,
    inStepAt: () => {
      if (state.kind === 'in-step') return clock.now();
      return state.since === undefined ? undefined : clock.now() - (clock.elapsed() - state.since);
    },
    close: async () => {
      over.abort();
      await running;
    },
  };
}

type Place = Pick<CollectionOptions<never>, 'client' | 'path' | 'selected'>;

function watchPath(
  { path, selected }: Place,
  { version = '', seconds }: { readonly version: string | undefined; readonly seconds: number },
): string {
  const query = { watch: 'true', allowWatchBookmarks: 'true', resourceVersion: version, ...selected };
  return `${path}?${new URLSearchParams({ ...query, timeoutSeconds: String(seconds) }).toString()}`;
}

/** Lists pages until the last one, of fewer objects where they are too large together. */
async function* pagesOf({ client, path, selected }: Place, signal: AbortSignal): AsyncGenerator<z.output<typeof page>> {
  let limit = maxPageSize;
  let next: string | undefined;
  for (;;) {
    let found: z.output<typeof page>;
    try {
      const query = new URLSearchParams({ ...selected, limit: String(limit), ...(next && { continue: next }) });
      found = page.parse(await client.list(`${path}?${query.toString()}`, signal));
    } catch (error) {
      if (!(error instanceof AnswerTooLarge) || limit === 1) throw error;
      limit = Math.ceil(limit / 8);
      continue;
    }
    yield found;
    next = found.metadata.continue;
    if (!next || signal.aborted) return;
  }
}

/** Reads one event of a watch. Throws when the event reports that the watch has failed. */
function readEvent(line: string): z.output<typeof event> {
  const read = event.parse(JSON.parse(line));
  if (read.type !== 'ERROR') return read;
  const { code, message } = failure.parse(read.object);
  throw code === 410 ? new Expired(message) : new Error(`the watch ended: ${message}`);
}

/** Collections that come and go, by name. */
export function createCollections<Item>(follow: (name: string) => Collection<Item>) {
  const all = new Map<string, Collection<Item>>();
  const ending = new Set<Promise<void>>();

  function want(names: ReadonlySet<string>): void {
    for (const [name, collection] of all) {
      if (names.has(name)) continue;
      all.delete(name);
      const ended = collection.close().finally(() => ending.delete(ended));
      ending.add(ended);
    }
    for (const name of names) if (!all.has(name)) all.set(name, follow(name));
  }

  return {
    /** Follows these from now on, and no others. */
    want,
    all,
    close: async (): Promise<void> => {
      want(new Set());
      await Promise.all(ending);
    },
  };
}
