import type { Clock } from '../../core/clock.ts';
import type { KubeObject, ObjectEvent } from '../../core/catalog.ts';
import { type BucketSize, hasToken, takeToken } from '../../core/token-bucket.ts';
import { type KubeClient, mergePatch } from './client.ts';
import { microTime } from './leases.ts';
import { cutName } from './objects.ts';

interface EventsOptions {
  readonly client: { readonly events: Pick<KubeClient['events'], 'createNamespacedEvent' | 'patchNamespacedEvent'> };
  readonly namespace: string;
  /** Name of this replica's pod. */
  readonly instance: string;
  readonly clock: Clock;
  readonly random: () => number;
  readonly onError: (error: unknown) => void;
}

export type Events = ReturnType<typeof createEvents>;

interface WrittenEvent {
  readonly name: string;
  count: number;
  lastAt: number;
}

/** An event that repeats within this time is one event with a count. */
const sameMs = 10 * 60_000;
const maxKnown = 5_000;
const maxWaiting = 500;
/**
 * Limits: an object that changes back and forth must not use up the events of the others, and all together must not
 * flood the API server.
 */
const perObject: BucketSize = { rate: 1 / 30, burst: 10 };
const inAll: BucketSize = { rate: 5, burst: 100 };
/** The API server refuses a longer note, in UTF-8. */
const maxNoteBytes = 1024;

/** Writes `events.k8s.io/v1` Events, which `kubectl describe` shows with their object. */
export function createEvents(options: EventsOptions) {
  const { client, namespace, instance, clock, random, onError } = options;
  const written = new Map<string, WrittenEvent>();
  const buckets = new Map<string, number>();
  const waiting: (() => Promise<unknown>)[] = [];
  let allFullAt = 0;
  let sending: Promise<void> | undefined;

  /** Takes one token from the object's bucket and one from the common bucket, or no token at all. */
  function isAllowed(uid: string): boolean {
    const now = clock.elapsed();
    const own = Math.max(0, (buckets.get(uid) ?? 0) - now);
    const all = Math.max(0, allFullAt - now);
    if (!hasToken(own, perObject) || !hasToken(all, inAll)) return false;
    if (buckets.size > maxKnown) for (const [key, fullAt] of buckets) if (fullAt < now) buckets.delete(key);
    buckets.set(uid, now + takeToken(own, perObject));
    allFullAt = now + takeToken(all, inAll);
    return true;
  }

  async function send(): Promise<void> {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await next().catch(onError);
    sending = undefined;
  }

  function create(object: KubeObject<string>, { severity, reason, action, note }: ObjectEvent): WrittenEvent {
    const now = clock.now();
    // Named like by Kubernetes' own recorder: the time, and a random part.
    const suffix = `${now.toString(16)}${Math.floor(random() * 0xffff_ffff).toString(16)}`;
    const name = `${cutName(object.name, 200)}.${suffix}`;
    const { kind, uid, resourceVersion } = object;
    const regarding = { apiVersion: 'weir.dev/v1alpha1', kind, namespace, name: object.name, uid, resourceVersion };
    const body = {
      metadata: { name, namespace },
      regarding,
      reason,
      action,
      note,
      type: severity,
      eventTime: microTime(now),
      reportingController: 'weir.dev/controller',
      reportingInstance: instance,
    };
    waiting.push(() => client.events.createNamespacedEvent({ namespace, body }));
    return { name, count: 1, lastAt: now };
  }

  function repeat(event: WrittenEvent): void {
    event.count += 1;
    event.lastAt = clock.now();
    const { name, count, lastAt } = event;
    const body = { series: { count, lastObservedTime: microTime(lastAt) } };
    waiting.push(() => client.events.patchNamespacedEvent({ namespace, name, body }, mergePatch));
  }

  return {
    /** Writes the event soon. Drops it if there are too many events. */
    report: (object: KubeObject<string>, event: ObjectEvent): void => {
      if (waiting.length >= maxWaiting || !isAllowed(object.uid)) return;
      const note = cutNote(event.note);
      const key = JSON.stringify([object.uid, event.reason, note]);
      const before = written.get(key);
      if (before !== undefined && clock.now() - before.lastAt < sameMs) repeat(before);
      else {
        if (written.size >= maxKnown) written.clear();
        written.set(key, create(object, { ...event, note: note === '' ? event.reason : note }));
      }
      sending ??= send();
    },
    /** Resolves when the waiting events have been sent, or have failed. If there are many, only the first ones are sent. */
    close: async (): Promise<void> => {
      waiting.splice(maxWaiting / 10);
      await sending;
    },
  };
}

function cutNote(note: string): string {
  if (Buffer.byteLength(note) <= maxNoteBytes) return note;
  const mark = '…';
  // A character of which only a part would fit is left out.
  const { read } = new TextEncoder().encodeInto(note, new Uint8Array(maxNoteBytes - Buffer.byteLength(mark)));
  return note.slice(0, read) + mark;
}
