import { summarizeProfile, type CpuProfile } from './cpu-profile.ts';
import type { GarbageCollection, LoopStall } from './loop-watch.ts';

/** Work that the bench caused, such as a scrape of the metrics. */
export interface CausedWork {
  readonly name: string;
  readonly fromMs: number;
  readonly toMs: number;
}

/** A stall, and what ran then. */
export interface ExplainedStall {
  /** Seconds since the start. */
  readonly second: number;
  readonly ms: number;
  /** Time for which the thread had no processor: other threads and programs had it. */
  readonly withoutProcessorMs: number;
  /** Pauses for garbage collection, all kinds together. */
  readonly collectionMs: number;
  readonly collections: readonly GarbageCollection['kind'][];
  /** Work that the bench caused and that was under way. */
  readonly beside: readonly string[];
  /** The folder of ours with the most processor time in the stall, and the function; undefined without samples. */
  readonly stage: string | undefined;
  readonly heaviest: string | undefined;
  /** What took at least half of the stall, else the stage. */
  readonly cause: string;
}

interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

const overlapMs = (one: Span, other: Span): number =>
  Math.max(0, Math.min(one.toMs, other.toMs) - Math.max(one.fromMs, other.fromMs));

/** Says for each stall what ran then, from the profile of the same time. */
export function explainStalls(
  stalls: readonly LoopStall[],
  around: {
    readonly startMs: number;
    readonly profile: CpuProfile;
    readonly collections: readonly GarbageCollection[];
    readonly work: readonly CausedWork[];
  },
): readonly ExplainedStall[] {
  const { startMs, profile, collections, work } = around;
  return stalls.map((stall) => {
    const ms = stall.toMs - stall.fromMs;
    const during = collections.filter((one) => overlapMs(one, stall) > 0);
    const collectionMs = during.reduce((sum, one) => sum + overlapMs(one, stall), 0);
    const withoutProcessorMs = Math.max(0, ms - stall.ranMs);
    const window = { fromUs: stall.fromMs * 1000, toUs: stall.toMs * 1000 };
    const { stages, lines } = summarizeProfile(profile, { window, limit: 1 });
    const kinds = [...new Set(during.map(({ kind }) => kind))];
    const stage = stages[0]?.stage;
    const cause = causeOf(ms, { collectionMs, kinds, withoutProcessorMs, stage });
    const [line] = lines;
    return {
      ...{ second: (stall.fromMs - startMs) / 1000, ms, withoutProcessorMs, collectionMs, collections: kinds },
      beside: [...new Set(work.filter((one) => overlapMs(one, stall) > 0).map(({ name }) => name))],
      ...{ stage, heaviest: line && `${line.name} ${line.place}`.trim(), cause },
    };
  });
}

function causeOf(
  ms: number,
  {
    collectionMs,
    kinds,
    withoutProcessorMs,
    stage,
  }: Pick<ExplainedStall, 'collectionMs' | 'withoutProcessorMs' | 'stage'> & {
    readonly kinds: ExplainedStall['collections'];
  },
): string {
  if (collectionMs >= ms / 2) return `garbage collection, ${kinds.join(' and ')}`;
  if (withoutProcessorMs >= ms / 2) return 'no processor was free';
  return stage ?? 'unknown';
}

export interface StallGroup {
  readonly cause: string;
  readonly count: number;
  readonly maxMs: number;
  readonly totalMs: number;
}

/** Stalls by cause, the cause with the longest stall first. */
export function groupStalls(stalls: readonly ExplainedStall[]): readonly StallGroup[] {
  return [...Map.groupBy(stalls, ({ cause }) => cause)]
    .map(([cause, group]) => ({
      cause,
      count: group.length,
      maxMs: Math.max(...group.map(({ ms }) => ms)),
      totalMs: group.reduce((sum, { ms }) => sum + ms, 0),
    }))
    .toSorted((a, b) => b.maxMs - a.maxMs);
}
