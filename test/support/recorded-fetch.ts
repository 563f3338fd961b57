import type { Dispatcher } from 'undici';

/** The surfaces whose events have names, by the beginning of the first one. */
const firstEvents = { messages: 'event: message', responses: 'event: response.' } as const;
type NamedSurface = keyof typeof firstEvents;

/** Everything that came back to the callers of one test file, for the checks over all of its traffic. */
export interface RecordedFetch {
  readonly fetch: typeof globalThis.fetch;
  /** Status line, headers and body of each answer, as far as it was read. */
  readonly texts: () => readonly string[];
  /** Bodies of the streams with named events that came to their end, by their surface; those that were left are not among them. */
  readonly namedStreams: (surface: NamedSurface) => readonly string[];
}

function describe(response: Response): string {
  const headers = [...response.headers].map(([name, value]) => `${name}: ${value}`);
  return [`HTTP ${response.status}`, ...headers, ''].join('\n');
}

/** A fetch that remembers what it was answered, streams included, without reading anything before its caller does. */
export function recordFetch(dispatcher: Dispatcher): RecordedFetch {
  const answers: { text: string; readonly bodyAt: number; isWholeStream: boolean }[] = [];
  const recorded: typeof globalThis.fetch = async (input, init) => {
    const options: object = { ...init, dispatcher };
    const response = await globalThis.fetch(input, options);
    const text = describe(response);
    const answer = { text, bodyAt: text.length, isWholeStream: false };
    answers.push(answer);
    if (response.body === null) return response;
    const decoder = new TextDecoder();
    const watched = response.body.pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        transform: (chunk, controller) => {
          answer.text += decoder.decode(chunk, { stream: true });
          controller.enqueue(chunk);
        },
        flush: () => {
          const type = response.headers.get('content-type') ?? '';
          answer.isWholeStream = type.startsWith('text/event-stream');
        },
      }),
    );
    const copy = new Response(watched, response);
    Object.defineProperty(copy, 'url', { value: response.url });
    return copy;
  };
  return {
    fetch: recorded,
    texts: () => answers.map(({ text }) => text),
    namedStreams: (surface) =>
      answers.flatMap(({ text, bodyAt, isWholeStream }) =>
        isWholeStream && text.startsWith(firstEvents[surface], bodyAt) ? [text.slice(bodyAt)] : [],
      ),
  };
}
