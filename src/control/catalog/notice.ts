import type { Announcement, CatalogObject, KubeObject } from '../../core/catalog.ts';
import { isObject } from '../../core/json.ts';
import { annotationsOf, kindOf, metadataOf, specOf } from '../core/raw-object.ts';

/** A model leaves the catalog with 14 days' notice (docs/reference/api.md §9). */
const noticeMs = 14 * 24 * 60 * 60 * 1000;

/** The finalizer that keeps a deleted Model until its notice has run. */
export const noticeFinalizer = 'weir.dev/notice';
export const waiverAnnotation = 'weir.dev/waive-notice';

/** When and why a model leaves the catalog. */
export interface Notice extends Announcement {
  /** When the model leaves. It may be later than the declared date. */
  readonly leavesAt: number;
  readonly cause: 'retireAt' | 'deleted';
  /** Whether the operator has waived the notice. */
  readonly isWaived: boolean;
}

export interface Leaving {
  /** `spec.retireAt`. */
  readonly retireAt?: number | undefined;
  /** When the deletion of the Model was requested. */
  readonly deletedAt?: number | undefined;
  readonly isWaived: boolean;
}

function isWaived(annotations: Readonly<Record<string, unknown>>): boolean {
  return annotations[waiverAnnotation] === 'true';
}

/**
 * When a model leaves; undefined: it stays. A date is honoured no earlier than 14 days after it was first seen. A date
 * before the announced one is announced again, a date after it is not. The notice of a deletion begins with the request
 * for the deletion. It never ends after the date on which the model would have left anyway.
 */
export function noticeOf(leaving: Leaving, recorded: Announcement | undefined, now: number): Notice | undefined {
  const { retireAt, deletedAt, isWaived } = leaving;
  const planned = retireAt === undefined ? undefined : plan(retireAt, recorded, now);
  const last = deletedAt === undefined ? undefined : { announcedAt: deletedAt, leavesAt: deletedAt + noticeMs };
  if (isWaived && last !== undefined) {
    return { announcedAt: last.announcedAt, leavesAt: last.announcedAt, cause: 'deleted', isWaived };
  }
  if (isWaived && planned !== undefined && retireAt !== undefined) {
    return { ...planned, leavesAt: retireAt, cause: 'retireAt', isWaived };
  }
  if (planned !== undefined && (last === undefined || planned.leavesAt <= last.leavesAt)) {
    return { ...planned, cause: 'retireAt', isWaived };
  }
  return last && { ...last, cause: 'deleted', isWaived };
}

interface Plan extends Announcement {
  readonly leavesAt: number;
}

function plan(retireAt: number, recorded: Announcement | undefined, now: number): Plan {
  const anew: Plan = { announcedAt: now, announcedFor: retireAt, leavesAt: Math.max(retireAt, now + noticeMs) };
  const { announcedAt, announcedFor } = recorded ?? {};
  if (announcedAt === undefined || announcedFor === undefined) return anew;
  const wanted = Math.max(retireAt, announcedFor);
  const before: Plan = { announcedAt, announcedFor: wanted, leavesAt: Math.max(wanted, announcedAt + noticeMs) };
  return retireAt < announcedFor && anew.leavesAt < before.leavesAt ? anew : before;
}

/** When a Model of a cluster leaves, by its spec and by the announcement in its status; undefined: it stays. */
export function noticeFor(object: KubeObject, now: number): Notice | undefined {
  const retireAt = retireAtOf(object.declared);
  const deletedAt = moment(object.deletedAt);
  const leaving = {
    retireAt,
    deletedAt,
    isWaived: isWaived(object.annotations),
  };
  return noticeOf(leaving, announcementOf(object, now), now);
}

/** When an object of a manifest folder leaves, by its spec and by its earlier announcement; undefined: it stays. */
export function noticeOfManifest(
  object: CatalogObject,
  recorded: Announcement | undefined,
  now: number,
): Notice | undefined {
  const retireAt = retireAtOf(object);
  if (retireAt === undefined || kindOf(object) !== 'Model') return undefined;
  return noticeOf({ retireAt, isWaived: isWaived(annotationsOf(object)) }, recorded, now);
}

const retireAtOf = (object: CatalogObject): number | undefined => moment(specOf(object)['retireAt']);

/** The clocks of replicas and of the API server may differ by so much. */
const maxSkewMs = 60 * 60 * 1000;

/**
 * The announcement in the status of a Model. Others can write a status, so one from before the Model was made, which would
 * waive the notice, or from the future, which would keep the Model for ever, counts as absent.
 */
function announcementOf({ status, declared }: KubeObject, now: number): Announcement | undefined {
  if (!isObject(status)) return undefined;
  const announcedAt = moment(status['announcedAt']);
  const announcedFor = moment(status['announcedFor']);
  const madeAt = moment(metadataOf(declared)['creationTimestamp']) ?? 0;
  if (announcedAt === undefined || announcedAt < madeAt - maxSkewMs || announcedAt > now + maxSkewMs) return undefined;
  return { announcedAt, announcedFor };
}

function moment(text: unknown): number | undefined {
  const at = typeof text === 'string' ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? undefined : at;
}

export interface Staying<Item> {
  readonly items: readonly Item[];
  /** When to compute this again, milliseconds from now: when the next item leaves, after an hour at the latest. */
  readonly lookAgainMs: number;
}

/** A timer of many days would overflow, and would not notice a change of the wall clock. */
const maxMs = 60 * 60 * 1000;

/** The items that have not left. `leavesAtOf` returns when an item leaves, milliseconds since the epoch; undefined: never. */
export function stayingAt<Item>(
  items: readonly Item[],
  { now, leavesAtOf }: { readonly now: number; readonly leavesAtOf: (item: Item) => number | undefined },
): Staying<Item> {
  let lookAgainMs = maxMs;
  const staying = items.filter((item) => {
    const leftMs = (leavesAtOf(item) ?? Number.POSITIVE_INFINITY) - now;
    if (leftMs <= 0) return false;
    lookAgainMs = Math.min(lookAgainMs, leftMs);
    return true;
  });
  return { items: staying, lookAgainMs };
}

/** Whether two lists hold the very same objects: an unchanged object is never copied. */
export function isSameList(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, index) => item === b[index]);
}

/**
 * The finalizers that a Model should have; undefined: it has them. A Model gets our finalizer once the snapshot has a
 * version of it, so that a Model that never served can be deleted at once. It loses our finalizer when it is deleted
 * and its notice has run.
 */
export function finalizersOf(
  object: KubeObject,
  { serves, notice, now }: { readonly serves: boolean; readonly notice: Notice | undefined; readonly now: number },
): readonly string[] | undefined {
  if (object.kind !== 'Model') return undefined;
  const has = object.finalizers.includes(noticeFinalizer);
  if (object.deletedAt === undefined) return serves && !has ? [...object.finalizers, noticeFinalizer] : undefined;
  const hasLeft = notice !== undefined && notice.leavesAt <= now;
  return has && hasLeft ? object.finalizers.filter((name) => name !== noticeFinalizer) : undefined;
}
