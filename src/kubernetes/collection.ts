import * as z from 'zod';
import { type Clock, waitFor } from '../core/clock.ts';
import { isRefusal } from './api-error.ts';
import type { KubeClient } from './client.ts';

interface BackOff {
  /** Waits longer with every call, with jitter, so that replicas don't come back together. Resolves early when stopped. */
  readonly wait: () => Promise<void>;
  /** It went well again. */
  readonly reset: () => void;
}

const leastMs = 250;
const mostMs = 5_000;

function createBackOff(options: {
  readonly clock: Pick<Clock, 'after'>;
  readonly random: () => number;
  readonly signal: AbortSignal;
}): BackOff {
  const { clock, random, signal } = options;
  let failures = 0;
  return {
    wait: () => {
      const delayMs = Math.min(mostMs, leastMs * 2 ** failures) * (0.5 + random() / 2);
      failures += 1;
      return waitFor(delayMs, { clock, signal });
    },
    reset: () => {
      failures = 0;
    },
  };
}

export interface CollectionOptions<Item> {
  readonly client: KubeClient;
  /** Such as `/apis/weir.dev/v1alpha1/namespaces/a/models`. */
  readonly path: string;
  /** Only objects that it selects are asked for, and seen. */
  readonly fieldSelector?: string;
  readonly clock: Clock;
  /** 0 ≤ x < 1, for jitter. */
  readonly random: () => number;
  /** What is kept of an object. It may be the item that is known already: then nothing has changed. */
  readonly read: (raw: unknown, known: ReadonlyMap<string, Item>) => { readonly name: string; readonly item: Item };
  /** Something in it, or how it stands, has changed. */
  readonly onChange: () => void;
}

/** What the API server has of one kind, followed. */
export interface Collection<Item> {
  readonly items: () => ReadonlyMap<string, Item>;
  /** Whether it was ever heard of the server; until then it is empty. */
  readonly isListed: () => boolean;
  /** Why it may be out of date; undefined while every change is heard of. */
  readonly trouble: () => unknown;
  /** When it was last in step with the server (`Clock.now`); undefined: never. */
  readonly inStepAt: () => number | undefined;
  readonly close: () => Promise<void>;
}

const pageSize = 500;
/** The server is asked to end a watch after five to ten minutes, so that replicas spread over the servers of a cluster. */
const watchSeconds = 300;
/** A watch that ends sooner than this was not worth having. */
const soundMs = 1000;

const page = z.object({
  metadata: z.object({ resourceVersion: z.string(), continue: z.string().optional() }),
  items: z.array(z.unknown()),
});
const event = z.object({ type: z.string(), object: z.looseObject({}) });
const versioned = z.object({ metadata: z.object({ resourceVersion: z.string() }) });
const failure = z.object({ code: z.number().default(0), message: z.string().default('') });

/** The server has forgotten the version we know: what we have must be listed anew. */
class Expired extends Error {}

/**
 * Lists the objects of one kind and watches them from there on, for ever. A watch that ends is taken up where it was;
 * one whose version the server has forgotten (410) begins with a new list. Between two tries that fail it backs off.
 */
export function followCollection<Item>(options: CollectionOptions<Item>): Collection<Item> {
  const { client, clock, read, onChange } = options;
  const items = new Map<string, Item>();
  const over = new AbortController();
  const backOff = createBackOff({ ...options, signal: over.signal });
  let version: string | undefined;
  let state: { readonly kind: 'in-step' } | { readonly kind: 'behind'; readonly since: number | undefined } = {
    ...{ kind: 'behind', since: undefined },
  };
  let trouble: unknown = new Error('not connected yet');
  let listed = false;

  function url(parameters: Readonly<Record<string, string | undefined>>): string {
    const given = { fieldSelector: options.fieldSelector, ...parameters };
    const query = Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
    return `${options.path}?${new URLSearchParams(query).toString()}`;
  }

  async function list(): Promise<void> {
    const found = new Map<string, Item>();
    let next: string | undefined;
    do {
      const answer = page.parse(
        await client.call('GET', url({ limit: String(pageSize), continue: next }), { signal: over.signal }),
      );
      for (const raw of answer.items) {
        const { name, item } = read(raw, items);
        found.set(name, item);
      }
      version = answer.metadata.resourceVersion;
      next = answer.metadata.continue === '' ? undefined : answer.metadata.continue;
    } while (next !== undefined && !over.signal.aborted);
    items.clear();
    for (const [name, item] of found) items.set(name, item);
    listed = true;
    onChange();
  }

  function take(line: string): void {
    const { type, object } = event.parse(JSON.parse(line));
    if (type === 'ERROR') {
      const { code, message } = failure.parse(object);
      throw code === 410 ? new Expired(message) : new Error(`the watch ended: ${message}`);
    }
    version = versioned.parse(object).metadata.resourceVersion;
    if (type === 'BOOKMARK') return;
    const { name, item } = read(object, items);
    if (type === 'DELETED') items.delete(name);
    else if (items.get(name) === item) return;
    else items.set(name, item);
    onChange();
  }

  async function watch(): Promise<void> {
    const timeoutSeconds = String(Math.round(watchSeconds * (1 + options.random())));
    const given = { watch: 'true', allowWatchBookmarks: 'true', resourceVersion: version, timeoutSeconds };
    const ended = new AbortController();
    let fault: Error | undefined;
    await client.watch(url(given), {
      signal: AbortSignal.any([over.signal, ended.signal]),
      onOpen: () => {
        state = { kind: 'in-step' };
        const wasTroubled = trouble !== undefined;
        trouble = undefined;
        if (wasTroubled) onChange();
      },
      onLine: (line) => {
        if (fault !== undefined) return;
        try {
          take(line);
        } catch (error) {
          fault = error instanceof Error ? error : new Error(String(error));
          ended.abort();
        }
      },
    });
    if (fault !== undefined) throw fault;
  }

  async function follow(): Promise<void> {
    while (!over.signal.aborted) {
      const begun = clock.elapsed();
      try {
        if (version === undefined) await list();
        await watch();
        if (clock.elapsed() - begun < soundMs) throw new Error('the watch ended at once');
        backOff.reset();
      } catch (error) {
        if (over.signal.aborted) return;
        const isExpired = error instanceof Expired || isRefusal(error, 410);
        // One that had gone well for a while is taken up at once; only a server that keeps failing is given time.
        const wasSound = state.kind === 'in-step' && clock.elapsed() - begun >= soundMs;
        if (isExpired || isRefusal(error, 403, 404)) version = undefined;
        if (isExpired && wasSound) continue;
        if (state.kind === 'in-step') state = { kind: 'behind', since: clock.now() };
        if (wasSound) backOff.reset();
        trouble = error;
        onChange();
        await backOff.wait();
      }
    }
  }

  const running = follow();
  return {
    items: () => items,
    isListed: () => listed,
    trouble: () => trouble,
    inStepAt: () => (state.kind === 'in-step' ? clock.now() : state.since),
    close: async () => {
      over.abort();
      await running;
    },
  };
}
