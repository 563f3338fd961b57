import type { Dispatcher } from 'undici';

/** Everything that came back to the callers of one test file, for the checks over all of its traffic. */
export interface RecordedFetch {
  readonly fetch: typeof globalThis.fetch;
  /** Status line, headers and body of each answer, as far as it was read. */
  readonly texts: () => readonly string[];
}

function describe(response: Response): string {
  const headers = [...response.headers].map(([name, value]) => `${name}: ${value}`);
  return [`HTTP ${response.status}`, ...headers, ''].join('\n');
}

/** A fetch that remembers what it was answered, streams included, without reading anything before its caller does. */
export function recordFetch(dispatcher: Dispatcher): RecordedFetch {
  const answers: { text: string }[] = [];
  const recorded: typeof globalThis.fetch = async (input, init) => {
    const options: object = { ...init, dispatcher };
    const response = await globalThis.fetch(input, options);
    const answer = { text: describe(response) };
    answers.push(answer);
    if (response.body === null) return response;
    const decoder = new TextDecoder();
    const watched = response.body.pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        transform: (chunk, controller) => {
          answer.text += decoder.decode(chunk, { stream: true });
          controller.enqueue(chunk);
        },
      }),
    );
    const copy = new Response(watched, response);
    Object.defineProperty(copy, 'url', { value: response.url });
    return copy;
  };
  return { fetch: recorded, texts: () => answers.map(({ text }) => text) };
}
