import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { createBackOff } from '../core/back-off.ts';
import { parseAnswer, reasonOf, withTimeout } from '../core/call-service.ts';
import type { Clock } from '../core/clock.ts';
import { type ProblemReport, problemReportSchema } from '../control/core/problem.ts';
import { type EndedStory, numberedStorySchema, storyPageSchema } from '../telemetry/core/story.ts';
import { type ServiceReply, maxBytes, type ServiceCalls } from './service-calls.ts';

/** Receives the events of the services. */
export interface ServicesListener {
  /** Requests of one service that ended, oldest first. */
  readonly stories: (stories: readonly EndedStory[]) => void;
  /** Called with the number of ended requests that no service remembers, because there were too many at once. */
  readonly missed: (requests: number) => void;
}

interface ServiceStreamOptions {
  /** Origin of the service, with its address. */
  readonly service: string;
  /** The page after which the stream begins. Undefined: it begins with requests that end from now on. */
  readonly lastEventId: string | undefined;
  readonly calls: Pick<ServiceCalls, 'send'>;
  readonly clock: Pick<Clock, 'after'>;
  readonly random: () => number;
  /** A stream that is silent for longer is closed and opened again. */
  readonly timeoutMs: number;
  readonly listener: ServicesListener;
}

/** The events of one service. A lost connection is opened again, after the last page that arrived. */
export type ServiceStream = ReturnType<typeof openServiceStream>;

/** An id that no service has issued: the stream begins with all requests that the service remembers. */
export const fromBeginning = '/0';

export function openServiceStream(options: ServiceStreamOptions) {
  const { service, calls, clock, random, timeoutMs, listener } = options;
  const over = new AbortController();
  const backOff = createBackOff({ clock, random, signal: over.signal });
  const opened = Promise.withResolvers<void>();
  let { lastEventId } = options;
  let answer: ServiceReply<ProblemReport> = { service, problem: null, said: undefined };

  function take({ event, id, data }: EventSourceMessage): void {
    if (event === 'problems') answer = { service, problem: null, said: parseAnswer(problemReportSchema, data) };
    if (event !== 'requests') return;
    const { requests, missed } = parseAnswer(storyPageSchema, data);
    lastEventId = id;
    // A story in the form of a newer version is left out, without loss of the others.
    const stories = requests.flatMap((one): readonly EndedStory[] => {
      const read = numberedStorySchema.safeParse(one);
      if (!read.success) return [];
      const { seq: _, ...story } = read.data;
      return [story];
    });
    backOff.reset();
    opened.resolve();
    if (missed > 0) listener.missed(missed);
    if (stories.length > 0) listener.stories(stories);
  }

  /** Reads one connection to its end. Always rejects. */
  async function read(): Promise<never> {
    const silent = new AbortController();
    const limit = () => clock.after(timeoutMs, () => silent.abort(new Error(`no answer within ${timeoutMs} ms`)));
    const headers = new Headers(lastEventId === undefined ? {} : { 'last-event-id': lastEventId });
    const response = await withTimeout({ clock, timeoutMs }, (late) =>
      calls.send(service, 'events', { headers, signal: AbortSignal.any([over.signal, silent.signal, late]) }),
    );
    let cancel = limit();
    try {
      if (response === undefined) throw new Error('its version has no stream of events');
      const parser = createParser({ onEvent: take, maxBufferSize: maxBytes });
      const decoder = new TextDecoder();
      for await (const piece of response.body ?? []) {
        cancel();
        cancel = limit();
        parser.feed(decoder.decode(piece, { stream: true }));
      }
      throw new Error('it ended the stream');
    } finally {
      cancel();
    }
  }

  async function run(): Promise<void> {
    while (!over.signal.aborted) {
      await read().catch((error: unknown) => {
        answer = { service, problem: reasonOf(error), said: undefined };
        opened.resolve();
      });
      await backOff.wait();
    }
  }

  void run();
  return {
    /** Resolves after the first page of requests, or the first failure. */
    opened: opened.promise,
    /** Whether the service can be read, and the problems that it reported last. */
    answer: (): ServiceReply<ProblemReport> => answer,
    close: (): void => over.abort(),
  };
}
