import type { Announcement } from '../core/catalog.ts';

/** A model leaves the catalog with 14 days' notice (docs/reference/api.md §9). */
const noticeMs = 14 * 24 * 60 * 60 * 1000;

/** The finalizer that keeps a deleted Model until its notice has run. */
export const noticeFinalizer = 'weir.dev/notice';
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

export function isWaived(annotations: Readonly<Record<string, unknown>>): boolean {
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
