import type { Clock } from '../core/clock.ts';
import type { Ranking } from '../core/plan.ts';
import { shownRequest } from '../core/request-fields.ts';
import type { NumberedStory, Story, StoryPage } from '../core/story.ts';
import type { AttemptWatch, Telemetry } from '../core/telemetry.ts';
import type { EndedSpan } from '../core/trace.ts';
import { type AttemptNote, mostEntries, type RequestRecord } from './request-record.ts';
import { spansOf } from './make-spans.ts';
import { storyOf } from './render-story.ts';

type RequestEvents = 'began' | 'progress' | 'outcome' | 'ended' | 'attempt' | 'searched' | 'over';

/** The stories of this process's requests: of those in progress, and of the last ones that have ended. */
export interface Stories extends Pick<Telemetry, RequestEvents> {
  /** Requests that ended after the one with this number, oldest first. */
  readonly after: (seq: number, limit: number) => StoryPage;
  /** The process and the number of the request that ended last. */
  readonly latest: () => { readonly process: string; readonly seq: number };
  /** Calls the listener after each request that ended. */
  readonly onEnded: (listener: () => void) => void;
  /**
   * The request with exactly this id; if there is none, the requests with this correlation id, newest first. The caller
   * chooses a correlation id: it can be any text, also the id of another's request.
   */
  readonly find: (id: string) => readonly Story[];
}

/**
 * Two lists: requests that were dispatched or cost something to look at, and requests that were refused before. Neither
 * displaces the other.
 */
const mostDispatched = 1000;
const mostRefused = 250;
/**
 * Requests with one correlation id, for each workspace and for those without a key: a flood of one hides no request of
 * another.
 */
const mostMatches = 20;
/** The one form of a fault's detail that is a classification: Envoy's response flags for a call without an answer. */
const envoyFlags = /^Envoy ([A-Z,]+)$/;
const unwatched: AttemptWatch = { output: () => undefined, movedTo: () => undefined, ended: () => undefined };

/** `process`: a name that no other process has, so that a reader notices a restart. */
export function createStories({
  clock,
  process,
  tellSpans,
}: {
  readonly clock: Pick<Clock, 'elapsed'>;
  readonly process: string;
  /** Receives the spans of each traced request, when it is over. */
  readonly tellSpans?: ((spans: readonly EndedSpan[]) => void) | undefined;
}): Stories {
  const running = new Map<string, RequestRecord>();
  const dispatched = createRing(mostDispatched);
  const refused = createRing(mostRefused);
  const listeners: (() => void)[] = [];
  let lastSeq = 0;

  return {
    began: (requestId, { surface, correlationId, startedAt, trace }) => {
      running.set(requestId, {
        ...{ requestId, surface, correlationId, startedAt, begun: clock.elapsed(), trace, seq: 0 },
        ...{ workspaceId: undefined, keyId: undefined, modelId: undefined, stream: undefined },
        ...{ admittedAt: undefined, arrivedAt: undefined, readAt: undefined, dispatchedAt: undefined },
        ...{ answeredAt: undefined, settledAt: undefined, recordedAt: undefined },
        ...{ overAt: undefined, ranking: undefined, attempts: [], attemptCount: 0, searches: [] },
        ...{ outcome: undefined, failure: undefined },
      });
    },
    progress: (requestId, progress) => {
      const record = running.get(requestId);
      if (record === undefined) return;
      switch (progress.kind) {
        case 'authenticated':
          record.workspaceId = progress.workspaceId;
          record.keyId = progress.keyId;
          return;
        case 'admitted':
          record.admittedAt = clock.elapsed();
          return;
        case 'arrived':
          record.arrivedAt = clock.elapsed();
          return;
        case 'read':
          record.readAt = clock.elapsed();
          record.modelId = progress.modelId;
          record.stream = progress.stream;
          return;
        case 'ranked':
          record.ranking = cut(progress.ranking);
          return;
        case 'dispatched':
          record.dispatchedAt = clock.elapsed();
          return;
        case 'answered':
          record.answeredAt = clock.elapsed();
          return;
        case 'recorded':
          record.recordedAt = clock.elapsed();
          return;
      }
    },
    attempt: (requestId, start) => {
      const record = running.get(requestId);
      if (record === undefined) return unwatched;
      record.attemptCount += 1;
      if (record.attempts.length >= mostEntries) return unwatched;
      const note: AttemptNote = {
        ...start,
        beganAt: clock.elapsed(),
        ...{ outputAt: undefined, endedAt: undefined, end: undefined, fault: undefined, facts: undefined },
      };
      record.attempts.push(note);
      return watchOf(note);
    },
    searched: (requestId, { provider, result, durationMs, spanId }) => {
      const searches = running.get(requestId)?.searches;
      if (searches === undefined || searches.length >= mostEntries) return;
      searches.push({ provider, result, durationMs, spanId, endedAt: clock.elapsed() });
    },
    outcome: (outcome) => {
      const record = running.get(outcome.requestId);
      if (record === undefined) return;
      record.outcome = outcome;
      record.settledAt = clock.elapsed();
    },
    ended: ({ requestId, failure }) => {
      const record = running.get(requestId);
      if (record === undefined || failure === undefined) return;
      const { code, row, about } = failure;
      record.failure = { code, row, about };
    },
    over: (requestId) => {
      const record = running.get(requestId);
      if (record === undefined) return;
      running.delete(requestId);
      record.overAt = clock.elapsed();
      if (record.trace?.place.isSampled === true) tellSpans?.(spansOf(record, record.trace));
      // Its caller left before it was complete: nothing happened.
      if (record.outcome === undefined && record.failure === undefined) return;
      record.seq = lastSeq += 1;
      (record.outcome === undefined ? refused : dispatched).add(record);
      for (const listener of listeners) listener();
    },
    after: (seq, limit) => {
      const later = [...dispatched.after(seq), ...refused.after(seq)].sort((a, b) => a.seq - b.seq);
      const chosen = later.slice(0, limit);
      const requests = chosen.map((record): NumberedStory => ({
        ...storyOf(record),
        settled:
          record.outcome === undefined
            ? null
            : shownRequest({ outcome: record.outcome, workspace: record.outcome.workspaceId }),
        seq: record.seq,
      }));
      return {
        process,
        // A number that is not there yet is of another life of the service: its reader begins anew.
        next_after: chosen.at(-1)?.seq ?? Math.min(seq, lastSeq),
        has_more: later.length > chosen.length,
        missed: Math.max(0, lastSeq - seq - later.length),
        requests,
      };
    },
    latest: () => ({ process, seq: lastSeq }),
    onEnded: (listener) => void listeners.push(listener),
    find: (id) => {
      const ended = [...dispatched.after(0), ...refused.after(0)].sort((a, b) => b.seq - a.seq);
      const exact = running.get(id) ?? ended.find(({ requestId }) => requestId === id);
      if (exact !== undefined) return [storyOf(exact)];
      const matches = [...[...running.values()].toReversed(), ...ended].filter(
        ({ correlationId }) => correlationId === id,
      );
      return newestOfEachWorkspace(matches).map(storyOf);
    },
  };

  function watchOf(note: AttemptNote): AttemptWatch {
    return {
      output: () => {
        note.outputAt ??= clock.elapsed();
      },
      movedTo: (endpoint) => {
        note.endpoint = endpoint;
      },
      ended: (end, facts) => {
        if (note.endedAt !== undefined) return;
        note.endedAt = clock.elapsed();
        note.end = end.kind;
        note.facts = facts;
        if (end.kind !== 'failed') return;
        const { kind, status, engineError, about, detail } = end.fault;
        note.fault = { kind, status, ...(engineError && { engineError }), about, flags: envoyFlags.exec(detail)?.[1] };
      },
    };
  }
}

function newestOfEachWorkspace(records: readonly RequestRecord[]): readonly RequestRecord[] {
  const counts = new Map<string | undefined, number>();
  return records.filter(({ workspaceId }) => {
    const count = (counts.get(workspaceId) ?? 0) + 1;
    counts.set(workspaceId, count);
    return count <= mostMatches;
  });
}

/** A model may have any number of routes. */
function cut(ranking: Ranking): Ranking {
  const { first, routes, leftOut } = ranking;
  if (routes.length <= mostEntries && leftOut.length <= mostEntries) return ranking;
  return { first, routes: routes.slice(0, mostEntries), leftOut: leftOut.slice(0, mostEntries) };
}

/** The last added records, in the order of their addition. */
function createRing(size: number) {
  const places: RequestRecord[] = [];
  let next = 0;
  return {
    add: (record: RequestRecord): void => {
      places[next] = record;
      next = (next + 1) % size;
    },
    /** Those with a higher number, in no order. */
    after: (seq: number): readonly RequestRecord[] => places.filter((record) => record.seq > seq),
  };
}
