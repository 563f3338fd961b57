import type { RequestRecord } from '../core/request-record.ts';
import { shownRequest } from '../../books/core/request-fields.ts';
import type { NumberedStory, Story, StoryPage } from '../core/story.ts';
import type { EndedSpan } from '../../core/trace.ts';
import { spansOf } from './make-spans.ts';
import { storyOf } from './render-story.ts';

/** The stories of this process's requests: of the requests in progress, and of the last requests that have ended. */
export type Stories = ReturnType<typeof createStories>;

/** Settled and refused requests are in two lists: a flood of refusals displaces no story of a settled request. */
const maxDispatched = 1000;
const maxRefused = 250;
/**
 * Most requests that are found by one correlation id, for each workspace and for the requests without a key. A flood of
 * one workspace hides no request of another.
 */
const maxMatches = 20;

/** `process`: a name that no other process has, so that a reader notices a restart. */
export function createStories({
  process,
  tellSpans,
}: {
  readonly process: string;
  /** Receives the spans of each traced request, when it is over. */
  readonly tellSpans?: ((spans: readonly EndedSpan[]) => void) | undefined;
}) {
  const running = new Map<string, RequestRecord>();
  const dispatched = createRing(maxDispatched);
  const refused = createRing(maxRefused);
  const listeners: (() => void)[] = [];
  let lastSeq = 0;

  return {
    /** Call it when a request for an answer arrives. The record is read again each time the story is read. */
    began: (record: RequestRecord): void => void running.set(record.requestId, record),
    /** Call it when the record of a request is complete. */
    ended: (record: RequestRecord): void => {
      running.delete(record.requestId);
      if (record.trace?.place.isSampled === true) tellSpans?.(spansOf(record, record.trace));
      // The caller left before the request was complete: there is nothing to show.
      if (record.outcome === undefined && record.failure === undefined) return;
      lastSeq += 1;
      (record.outcome === undefined ? refused : dispatched).add({ seq: lastSeq, record });
      for (const listener of listeners) listener();
    },
    running: (): Iterable<RequestRecord> => running.values(),
    /** Requests that ended after the request with this number, oldest first. */
    after: (seq: number, limit: number): StoryPage => {
      const later = [...dispatched.after(seq), ...refused.after(seq)].sort((a, b) => a.seq - b.seq);
      const chosen = later.slice(0, limit);
      const hasMore = later.length > chosen.length;
      const requests = chosen.map(({ seq: number, record }): NumberedStory => ({
        ...storyOf(record),
        settled:
          record.outcome === undefined
            ? null
            : shownRequest({ outcome: record.outcome, workspace: record.outcome.workspaceId }),
        seq: number,
      }));
      return {
        process,
        // A reader whose number is above the last one has read from an earlier process, so it starts again.
        next_after: (hasMore ? chosen : later).at(-1)?.seq ?? Math.min(seq, lastSeq),
        has_more: hasMore,
        missed: Math.max(0, lastSeq - seq - later.length),
        requests,
      };
    },
    /** The process and the number of the request that ended last. */
    latest: (): { readonly process: string; readonly seq: number } => ({ process, seq: lastSeq }),
    /** Calls the listener after each request that ended. */
    onEnded: (listener: () => void): void => void listeners.push(listener),
    /**
     * The request with exactly this id; if there is none, the requests with this correlation id, newest first. The caller
     * chooses a correlation id: it can be any text, also the id of another caller's request.
     */
    find: (id: string): readonly Story[] => {
      const ended = [...dispatched.after(0), ...refused.after(0)]
        .sort((a, b) => b.seq - a.seq)
        .map(({ record }) => record);
      const exact = running.get(id) ?? ended.find(({ requestId }) => requestId === id);
      if (exact !== undefined) return [storyOf(exact)];
      const matches = [...[...running.values()].toReversed(), ...ended].filter(
        ({ correlationId }) => correlationId === id,
      );
      return newestOfEachWorkspace(matches).map(storyOf);
    },
  };
}

function newestOfEachWorkspace(records: readonly RequestRecord[]): readonly RequestRecord[] {
  const counts = new Map<string | undefined, number>();
  return records.filter(({ workspaceId }) => {
    const count = (counts.get(workspaceId) ?? 0) + 1;
    counts.set(workspaceId, count);
    return count <= maxMatches;
  });
}

/** The record of a request that has ended, with its number in the order of the ends. */
interface NumberedRecord {
  readonly seq: number;
  readonly record: RequestRecord;
}

/** The records that were added last, in the order of their addition. */
function createRing(size: number) {
  const places: NumberedRecord[] = [];
  let next = 0;
  return {
    add: (numbered: NumberedRecord): void => {
      places[next] = numbered;
      next = (next + 1) % size;
    },
    /** The records with a higher number, in no order. */
    after: (seq: number): readonly NumberedRecord[] => places.filter((numbered) => numbered.seq > seq),
  };
}
