import type { Announcement, CatalogObject, KubeObject } from '../core/catalog.ts';
import { isFields } from './read-object.ts';

/** A model leaves the catalog with 14 days' notice (docs/reference/api.md §9). */
const noticeMs = 14 * 24 * 60 * 60 * 1000;

/** The finalizer that keeps a deleted Model until its notice has run. */
const noticeFinalizer = 'weir.dev/notice';
const waiverAnnotation = 'weir.dev/waive-notice';

/** That a model leaves. */
export interface Notice extends Announcement {
  /** When it really leaves. */
  readonly leavesAt: number;
  readonly cause: 'retireAt' | 'deleted';
  /** The operator does without the notice. */
  readonly isWaived: boolean;
}

export interface Leaving {
  /** `spec.retireAt`. */
  readonly retireAt?: number;
  /** When its deletion was asked for. */
  readonly deletedAt?: number;
  readonly isWaived: boolean;
}

function isWaived(annotations: Readonly<Record<string, unknown>>): boolean {
  return annotations[waiverAnnotation] === 'true';
}

/**
 * When a model leaves; undefined: it stays. A date is honoured no earlier than 14 days after it was first seen, so that
 * nobody learns of it later than that; moving it closer is announced anew, moving it away is not. A deletion counts
 * from when it was asked for, and never makes a model stay longer than it was to stay anyway.
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

/** When a Model of a cluster leaves, by what it declares and what its status remembers; undefined: it stays. */
export function noticeFor(object: KubeObject, now: number): Notice | undefined {
  const retireAt = retireAtOf(object.declared.value);
  const deletedAt = moment(object.deletedAt);
  const leaving = {
    ...(retireAt === undefined ? {} : { retireAt }),
    ...(deletedAt === undefined ? {} : { deletedAt }),
    isWaived: isWaived(object.annotations),
  };
  return noticeOf(leaving, announcementOf(object.status), now);
}

/** When an object of a manifest folder leaves, by what it declares and what was announced before; undefined: it stays. */
export function noticeOfManifest(
  { value }: CatalogObject,
  recorded: Announcement | undefined,
  now: number,
): Notice | undefined {
  const retireAt = retireAtOf(value);
  if (retireAt === undefined || !isFields(value) || value['kind'] !== 'Model') return undefined;
  const metadata = isFields(value['metadata']) ? value['metadata'] : {};
  const annotations = isFields(metadata['annotations']) ? metadata['annotations'] : {};
  return noticeOf({ retireAt, isWaived: isWaived(annotations) }, recorded, now);
}

function retireAtOf(value: unknown): number | undefined {
  const spec = isFields(value) && isFields(value['spec']) ? value['spec'] : {};
  return moment(spec['retireAt']);
}

function announcementOf(status: unknown): Announcement | undefined {
  if (!isFields(status)) return undefined;
  const announcedAt = moment(status['announcedAt']);
  const announcedFor = moment(status['announcedFor']);
  if (announcedAt === undefined) return undefined;
  return { announcedAt, ...(announcedFor === undefined ? {} : { announcedFor }) };
}

function moment(text: unknown): number | undefined {
  const at = typeof text === 'string' ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? undefined : at;
}

export interface Staying<Item> {
  readonly items: readonly Item[];
  /** When to look again, milliseconds from now: one of them leaves then, or an hour has passed. */
  readonly lookAgainMs: number;
}

/** Timers of many days overflow; and clocks are set. */
const longestMs = 60 * 60 * 1000;

/** Those that have not left. `leavesAtOf` tells when one does, milliseconds since the epoch; undefined: never. */
export function stayingAt<Item>(
  items: readonly Item[],
  { now, leavesAtOf }: { readonly now: number; readonly leavesAtOf: (item: Item) => number | undefined },
): Staying<Item> {
  let lookAgainMs = longestMs;
  const staying = items.filter((item) => {
    const leftMs = (leavesAtOf(item) ?? Number.POSITIVE_INFINITY) - now;
    if (leftMs <= 0) return false;
    lookAgainMs = Math.min(lookAgainMs, leftMs);
    return true;
  });
  return { items: staying, lookAgainMs };
}

/** The very same objects: what has not changed is not made anew. */
export function isSameList(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, index) => item === b[index]);
}

/**
 * The finalizers that a Model ought to have; undefined: those that it has. A Model gets ours once something of it serves,
 * so that a Model that never served can be deleted at once. It loses ours when it is deleted and its notice has run.
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
