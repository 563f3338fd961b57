/** Media type of server-sent events. */
export const eventStreamType = 'text/event-stream';

/** Longest event, UTF-16 units: more than any model writes at once. Reading it blocks the event loop for 20 ms. */
const maxEventLength = 1024 * 1024;

/** Most data lines of one event. Engines send one line, and joining thousands of lines would block the event loop. */
const maxDataLines = 1_000;

const tooLong = (): RangeError => new RangeError('event too long');

/** Receives the events of a decoder, in order. */
interface SseSink {
  /** The data of one event. `name`: of its `event:` line, empty if there is none. */
  readonly payload: (data: string, name: string) => void;
  /**
   * Called at the beginning of an event: reads as many complete events as it can by a template, and returns where it stopped. The
   * decoder reads the rest. All line endings are line feeds by then.
   */
  readonly run?: (input: string, at: number) => number;
}

/**
 * Both functions throw RangeError when an event exceeds the limit.
 * Decodes a stream of server-sent events to their `data` payloads (WHATWG HTML §9.2.6). Comments, ids and retry times
 * are dropped: no chat engine uses them. Bytes may be split anywhere.
 */
export function createSseDecoder(sink: SseSink) {
  const decoder = new TextDecoder();
  /** The text after the last line ending. */
  let rest = '';
  /** The data lines of the incomplete event. */
  let data: string | undefined;
  let dataLines = 0;
  /** The name of the incomplete event. */
  let name = '';
  /** The previous piece ended in a carriage return: its line feed may begin the next piece. */
  let afterReturn = false;

  function take(text: string): void {
    // Searching the whole of a long event again with each small piece would take quadratic time.
    if (!text.includes('\n')) {
      rest += text;
      checkLength();
      return;
    }
    const input = rest === '' ? text : rest + text;
    let at = 0;
    for (;;) {
      if (data === undefined && sink.run !== undefined) at = sink.run(input, at);
      const lineEnd = input.indexOf('\n', at);
      if (lineEnd === -1) break;
      if (lineEnd === at) {
        if (data !== undefined) sink.payload(data, name);
        data = undefined;
        dataLines = 0;
        name = '';
      } else if (input.startsWith('data:', at)) {
        const from = input.charCodeAt(at + 5) === 0x20 ? at + 6 : at + 5;
        const line = input.slice(from, lineEnd);
        data = data === undefined ? line : `${data}\n${line}`;
        dataLines += 1;
      } else if (lineEnd - at === 4 && input.startsWith('data', at)) {
        // A name without a colon is a field with an empty value.
        data = data === undefined ? '' : `${data}\n`;
        dataLines += 1;
      } else if (input.startsWith('error:', at)) {
        // llama.cpp of 2025 wrote an error in a field of this name, in place of data.
        name = 'error';
        data = input.slice(at + 6, lineEnd);
      } else if (input.startsWith('event:', at)) name = input.slice(at + 6, Math.min(lineEnd, at + 70)).trim();
      if (dataLines > maxDataLines || (data !== undefined && data.length > maxEventLength)) throw tooLong();
      at = lineEnd + 1;
    }
    rest = at === 0 ? input : input.slice(at);
    checkLength();
  }

  function checkLength(): void {
    if (rest.length + (data?.length ?? 0) > maxEventLength) throw tooLong();
  }

  /** Turns every line ending into a line feed. The common case has no carriage return and costs one search. */
  function lineFeeds(text: string): string {
    if (text === '') return text;
    const start = afterReturn && text.startsWith('\n') ? 1 : 0;
    afterReturn = text.endsWith('\r');
    const tail = start === 0 ? text : text.slice(start);
    return tail.includes('\r') ? tail.replace(/\r\n?/g, '\n') : tail;
  }

  return {
    push: (bytes: Uint8Array): void => take(lineFeeds(decoder.decode(bytes, { stream: true }))),
    /** Called when the stream has ended. An unfinished event counts, because some engines leave out the last blank line. */
    end: (): void => take(`${lineFeeds(decoder.decode())}\n\n`),
  };
}
