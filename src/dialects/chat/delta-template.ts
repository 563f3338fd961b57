import type { TextEvent } from '../../core/event.ts';
import { isObject, parseJson } from '../json.ts';

/**
 * An engine's chunks differ in nothing but their text. Once one was parsed, the next one that has the same bytes before
 * and after its text, and no quote or backslash in it, can only mean the same with that text: no need to parse it.
 */
export interface DeltaTemplate {
  readonly type: TextEvent['type'];
  readonly choice: number;
  /**
   * Reads the events from `at` on that fit, and hands out their text, joined, and how many there were. Gives where it
   * stopped: at the first event that does not fit or is not whole, which must be parsed.
   */
  readonly run: (input: string, at: number, found: (text: string, deltas: number) => void) => number;
}

const probe = 'weir probe';

/** What stands for something else in a JSON string, or makes it no JSON at all. */
// eslint-disable-next-line no-control-regex -- control characters are what it looks for
const notPlain = /[\\\u0000-\u001f]/;

/**
 * Learns a template from a chunk and the one event it gave. Undefined when the chunk says anything more than its text.
 */
export function learnTemplate(payload: string, event: TextEvent): DeltaTemplate | undefined {
  const written = JSON.stringify(event.text);
  const at = payload.indexOf(written);
  if (at === -1 || payload.indexOf(written, at + 1) !== -1 || event.logprobs !== undefined) return undefined;
  const prefix = payload.slice(0, at + 1);
  const suffix = payload.slice(at + written.length - 1);
  // Proof that the text stands where we think: put another in its place and find it in the delta.
  const chunk = parseJson(prefix + probe + suffix);
  if (!isObject(chunk) || !Array.isArray(chunk['choices'])) return undefined;
  const choice: unknown = chunk['choices'][0];
  const delta = isObject(choice) ? choice['delta'] : undefined;
  const field = event.type === 'text-delta' ? ['content'] : ['reasoning_content', 'reasoning'];
  if (!isObject(delta) || !field.some((name) => delta[name] === probe)) return undefined;
  const head = `data: ${prefix}`;
  const tail = `${suffix}\n\n`;
  return {
    type: event.type,
    choice: event.choice,
    run: (input, start, found) => {
      let at = start;
      let text = '';
      let deltas = 0;
      while (input.startsWith(head, at)) {
        const from = at + head.length;
        // The suffix begins with the quote that ends the text: the first one, or the text has escapes.
        const quote = input.indexOf('"', from);
        if (quote === -1 || !input.startsWith(tail, quote)) break;
        const piece = input.slice(from, quote);
        if (notPlain.test(piece)) break;
        if (piece !== '') deltas += 1;
        text += piece;
        at = quote + tail.length;
      }
      if (deltas > 0) found(text, deltas);
      return at;
    },
  };
}
