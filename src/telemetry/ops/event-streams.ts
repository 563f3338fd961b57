import type { ServerResponse } from 'node:http';
import type { CancelTimer, Clock } from '../../core/clock.ts';
import type { ProblemReport } from '../../control/core/problem.ts';
import type { StoryPage } from '../core/story.ts';

/** The data that the streams report. */
export interface EventSources {
  readonly stories: {
    readonly after: (seq: number, limit: number) => StoryPage;
    /** The process and the number of the request that ended last. */
    readonly latest: () => { readonly process: string; readonly seq: number };
    /** Calls the listener after each request that ended. */
    readonly onEnded: (listener: () => void) => void;
  };
  readonly problems: () => ProblemReport;
}

export type EventStreams = ReturnType<typeof createEventStreams>;

/** Most open streams. One more ends the oldest stream. */
const maxStreams = 16;
/** Most requests in one page: each takes about 10 µs to render, and 2 KB. */
const maxOfPage = 100;
/** Requests that end within this time are one page: a flood costs four pages a second. */
const gatherMs = 250;
/** The longest silence of a stream. The portal closes a stream that is silent for too long. */
const heartbeatMs = 1_000;

interface EventStream {
  readonly response: ServerResponse;
  /** The number of the last request that was reported. */
  after: number;
  /** The last report of problems that was sent, as JSON. */
  problems: string;
}

/** Streams for the portals of this gateway. A timer runs only while one is open. */
export function createEventStreams({ stories, problems }: EventSources, clock: Pick<Clock, 'after'>) {
  const streams = new Set<EventStream>();
  let cancel: CancelTimer = () => undefined;
  let isPageDue = false;

  stories.onEnded(() => {
    if (isPageDue || streams.size === 0) return;
    isPageDue = true;
    next(gatherMs);
  });

  function next(delayMs: number): void {
    cancel();
    cancel = clock.after(delayMs, sendAll);
  }

  function sendAll(): void {
    isPageDue = false;
    const report = JSON.stringify(problems());
    for (const stream of streams) {
      // A slow portal has no buffer here. Its requests wait in `stories`; requests that no longer fit there count as missed.
      if (!stream.response.writableNeedDrain) send(stream, report);
    }
    next(heartbeatMs);
  }

  function send(stream: EventStream, report: string): void {
    let text = '';
    if (stream.problems !== report) text += `event: problems\ndata: ${report}\n\n`;
    stream.problems = report;
    if (stories.latest().seq > stream.after) text += pageFor(stream);
    stream.response.write(text === '' ? ':\n\n' : text);
  }

  /** The newest requests that the stream has not reported. Requests that do not fit are counted as missed. */
  function pageFor(stream: EventStream): string {
    const first = Math.max(stream.after, stories.latest().seq - maxOfPage);
    const page = stories.after(first, maxOfPage);
    const missed = page.missed + first - stream.after;
    stream.after = page.next_after;
    return `event: requests\nid: ${page.process}/${stream.after}\ndata: ${JSON.stringify({ ...page, missed })}\n\n`;
  }

  function startOf(lastEventId: string | undefined): number {
    const { process, seq } = stories.latest();
    if (lastEventId === undefined) return seq;
    const [, known, after] = /^(.*)\/(\d{1,15})$/.exec(lastEventId) ?? [];
    return known === process ? Math.min(Number(after), seq) : 0;
  }

  return {
    /**
     * Answers with server-sent events: `requests`, a `StoryPage` of requests that ended, and `problems`, the
     * `ProblemReport` whenever it changes. Both are sent at once when the stream opens. `lastEventId`: the id of the last
     * page that the reader has. Undefined: pages begin with requests that end from now on. An id of another process:
     * pages begin with all requests that this process remembers.
     */
    open: (response: ServerResponse, lastEventId: string | undefined): void => {
      const [oldest] = streams;
      if (oldest !== undefined && streams.size >= maxStreams) {
        streams.delete(oldest);
        oldest.response.end();
      }
      const stream: EventStream = { response, after: startOf(lastEventId), problems: '' };
      response.on('close', () => {
        streams.delete(stream);
        if (streams.size > 0) return;
        cancel();
        isPageDue = false;
      });
      response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
      stream.problems = JSON.stringify(problems());
      response.write(`event: problems\ndata: ${stream.problems}\n\n${pageFor(stream)}`);
      streams.add(stream);
      if (streams.size === 1) next(heartbeatMs);
    },
  };
}
