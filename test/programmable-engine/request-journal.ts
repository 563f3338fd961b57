import type { IncomingHttpHeaders } from 'node:http';

import { stuckAfterMs } from '../support/stuck-after.ts';

/** One request as the engine saw it. The object changes while the request runs. */
export interface RecordedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly bodyBytes: number;
  /** The parsed JSON, or the text when it is none; undefined when it was too long ago or too long to be kept. */
  readonly body: unknown;
  /** The client left before the answer was complete and before the engine broke it off itself. */
  readonly aborted: boolean;
  readonly state: 'open' | 'closed';
  /** Monotonic milliseconds. */
  readonly receivedAt: number;
  readonly endedAt: number | undefined;
}

/** Keeps what was asked of the engine, within bounds, and lets tests wait for what they expect. */
export interface RequestJournal {
  readonly requests: () => readonly RecordedRequest[];
  readonly open: () => number;
  /** `bodyBytes` of body have been read. */
  readonly add: (request: Pick<RecordedRequest, 'method' | 'path' | 'headers' | 'bodyBytes' | 'body'>) => JournalEntry;
  /** Resolves once the condition holds, checked after every change; rejects if the test is stuck. */
  readonly until: (condition: () => boolean) => Promise<void>;
  /** Tells those who wait that something has changed. */
  readonly changed: () => void;
  readonly clear: () => void;
}

export interface JournalEntry {
  readonly close: (ending: { readonly aborted: boolean }) => void;
}

type Kept = { -readonly [K in keyof RecordedRequest]: RecordedRequest[K] };

/** At most `requests` requests and `bodyBytes` of bodies are kept; the oldest go first. */
export function createRequestJournal(limits = { requests: 20_000, bodyBytes: 128 * 1024 * 1024 }): RequestJournal {
  let kept: Kept[] = [];
  let keptBytes = 0;
  let firstWithBody = 0;
  let open = 0;
  const waiting = new Set<() => void>();

  const changed = (): void => {
    for (const look of waiting) look();
  };
  const trim = (): void => {
    for (; keptBytes > limits.bodyBytes && firstWithBody < kept.length; firstWithBody += 1) {
      const oldest = kept[firstWithBody];
      if (oldest === undefined) break;
      keptBytes -= oldest.bodyBytes;
      oldest.body = undefined;
    }
    // Trimmed by halves, so that a long run does not pay for it at every request.
    if (kept.length <= limits.requests * 2) return;
    const gone = kept.splice(0, kept.length - limits.requests);
    keptBytes -= gone.slice(firstWithBody).reduce((sum, one) => sum + one.bodyBytes, 0);
    firstWithBody = Math.max(0, firstWithBody - gone.length);
  };

  return {
    requests: () => kept.slice(-limits.requests),
    open: () => open,
    changed,
    add: (request) => {
      const entry: Kept = {
        ...request,
        aborted: false,
        state: 'open',
        receivedAt: performance.now(),
        endedAt: undefined,
      };
      kept.push(entry);
      keptBytes += entry.bodyBytes;
      open += 1;
      trim();
      changed();
      return {
        close: ({ aborted }) => {
          if (entry.state === 'closed') return;
          open -= 1;
          Object.assign(entry, { state: 'closed', aborted, endedAt: performance.now() });
          changed();
        },
      };
    },
    until: async (condition) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (!condition()) return;
          clearTimeout(timer);
          waiting.delete(look);
          resolve();
        };
        const timer = setTimeout(() => {
          waiting.delete(look);
          reject(new Error(`the engine did not see what was waited for within ${stuckAfterMs} ms`));
        }, stuckAfterMs);
        waiting.add(look);
        look();
      }),
    clear: () => {
      kept = [];
      keptBytes = 0;
      firstWithBody = 0;
      changed();
    },
  };
}
