/** Media type of server-sent events. */
export const eventStreamType = 'text/event-stream';

/** Longest event we take, in UTF-16 units: more than any model writes, in one piece. Reading it takes the event loop 20 ms. */
const maxEventLength = 1024 * 1024;

/** Most data lines of one event: engines send one. Thousands of pieces that are one text take the event loop a while to join. */
const maxDataLines = 1_000;

const tooLong = (): RangeError => new RangeError('event too long');

/** Receives what a decoder finds, in order. */
export interface SseSink {
  /** The data of one event. */
  readonly payload: (data: string) => void;
  /**
   * Called where an event begins: reads as many whole events as it knows by heart, and gives where it stopped. What it
   * leaves is decoded as usual. Line endings are line feeds by then.
   */
  readonly run?: (input: string, at: number) => number;
}

/** Both throw RangeError when an event passes the limit. */
export interface SseDecoder {
  readonly push: (bytes: Uint8Array) => void;
  /** The stream has ended. What stands unfinished counts: engines forget the last blank line. */
  readonly end: () => void;
}

/**
 * Decodes a stream of server-sent events to their `data` payloads (WHATWG HTML §9.2.6). Comments, event names, ids and
 * retry times are not handed out: no chat engine says anything with them. Bytes may be split anywhere.
 */
export function createSseDecoder(sink: SseSink): SseDecoder {
  const decoder = new TextDecoder();
  /** Text after the last line ending. */
  let rest = '';
  /** Data lines of the event that is not complete yet. */
  let data: string | undefined;
  let dataLines = 0;
  /** The previous text ended in a carriage return, whose line feed may still come. */
  let afterReturn = false;

  function take(text: string): void {
    // A long event in small pieces: looking through all of it with each piece would take the square of its length.
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
        if (data !== undefined) sink.payload(data);
        data = undefined;
        dataLines = 0;
      } else if (input.startsWith('data:', at)) {
        const from = input.charCodeAt(at + 5) === 0x20 ? at + 6 : at + 5;
        const line = input.slice(from, lineEnd);
        data = data === undefined ? line : `${data}\n${line}`;
        dataLines += 1;
      } else if (lineEnd - at === 4 && input.startsWith('data', at)) {
        // A name without a colon is a field with an empty value.
        data = data === undefined ? '' : `${data}\n`;
        dataLines += 1;
      }
      if (dataLines > maxDataLines || (data !== undefined && data.length > maxEventLength)) throw tooLong();
      at = lineEnd + 1;
    }
    rest = at === 0 ? input : input.slice(at);
    checkLength();
  }

  function checkLength(): void {
    if (rest.length + (data?.length ?? 0) > maxEventLength) throw tooLong();
  }

  /** Makes every line ending a line feed. The common case has no carriage return and costs one search. */
  function lineFeeds(text: string): string {
    if (text === '') return text;
    const start = afterReturn && text.startsWith('\n') ? 1 : 0;
    afterReturn = text.endsWith('\r');
    const tail = start === 0 ? text : text.slice(start);
    return tail.includes('\r') ? tail.replace(/\r\n?/g, '\n') : tail;
  }

  return {
    push: (bytes) => take(lineFeeds(decoder.decode(bytes, { stream: true }))),
    end: () => take(`${lineFeeds(decoder.decode())}\n\n`),
  };
}
