import type { TextEvent } from '../../../core/event.ts';
import { isObject, type JsonObject, parseJson, textOf } from '../../../core/json.ts';
import { valueEnd } from '../../../core/json-text.ts';
import { finishWordOf } from './read-field.ts';

/**
 * Receives what a template has read from a run of chunks: the text, the number of chunks with text, and the last usage block as
 * JSON.
 */
type RunListener = (text: string, deltas: number, usage: string | undefined) => void;

/**
 * The bytes that an engine repeats in every chunk. Its chunks differ only in their text, and in the counts of their usage where
 * every chunk has one. If a chunk has the same bytes around its text and counts as a parsed chunk, and no quote or backslash in the
 * text, only its text and counts are new. Such chunks are read without a JSON parser.
 */
export type DeltaTemplate = NonNullable<ReturnType<typeof learnTemplate>>;

/** Learns a template from a chunk and its only text. Returns undefined when the place of the text is not certain. */
export function learnTemplate(payload: string, event: TextEvent) {
  const written = JSON.stringify(event.text);
  const at = payload.indexOf(written);
  if (at === -1 || payload.indexOf(written, at + 1) !== -1 || event.logprobs !== undefined) return undefined;
  const prefix = payload.slice(0, at + 1);
  const suffix = payload.slice(at + written.length - 1);
  // Proves the place of the text: another text is put there and must appear in the delta.
  const chunk = parseJson(prefix + probe + suffix);
  if (!isObject(chunk) || !Array.isArray(chunk['choices'])) return undefined;
  const choice: unknown = chunk['choices'][0];
  const delta = isObject(choice) ? choice['delta'] : undefined;
  const field = event.type === 'text-delta' ? ['content'] : ['reasoning_content', 'reasoning'];
  if (!isObject(delta) || !field.some((name) => delta[name] === probe)) return undefined;
  const head = `data: ${prefix}`;
  const { pieces, usageFrom, usageTo } = tailOf(prefix + probe, suffix);
  const [tail, ...afterCounts] = pieces;
  const counted = afterCounts.length > 0;

  /**
   * Returns where an event ends, and where its usage block ends, given the `quote` at the end of its text. Undefined when the event
   * does not match.
   */
  function endsOf(input: string, quote: number): { readonly end: number; readonly usageEnd: number } | undefined {
    if (!hasTextAt(tail, input, quote)) return undefined;
    let end = quote + tail.length;
    let lastFrom = end;
    for (const piece of afterCounts) {
      const from = countEnd(input, end);
      if (from === undefined || !hasTextAt(piece, input, from)) return undefined;
      lastFrom = from;
      end = from + piece.length;
    }
    return input.startsWith('\n\n', end) ? { end: end + 2, usageEnd: lastFrom + usageTo } : undefined;
  }

  return {
    /** `text-delta` for chunks with `content`, `reasoning-delta` for those with a field of reasoning. */
    type: event.type,
    choice: event.choice,
    /**
     * Reads the events from `start` that match. Returns the index of the first event that does not match or is not complete. It must be
     * parsed.
     */
    run: (input: string, start: number, listener: RunListener): number => {
      let at = start;
      let text = '';
      let deltas = 0;
      let usage: readonly [from: number, to: number] | undefined;
      while (hasTextAt(head, input, at)) {
        const from = at + head.length;
        // The first quote ends the text, unless the text has escapes.
        const quote = input.indexOf('"', from);
        if (quote === -1) break;
        const ends = endsOf(input, quote);
        if (ends === undefined) break;
        const piece = input.slice(from, quote);
        if (notPlain.test(piece)) break;
        if (piece !== '') deltas += 1;
        text += piece;
        if (counted) usage = [quote + usageFrom, ends.usageEnd];
        at = ends.end;
      }
      if (at > start) listener(text, deltas, usage === undefined ? undefined : input.slice(...usage));
      return at;
    },
  };
}

const probe = 'weir probe';

/** A character that begins an escape in a JSON string, or that a JSON string must not contain. */
// eslint-disable-next-line no-control-regex -- it looks for control characters
const notPlain = /[\\\u0000-\u001f]/;

/** Most digits of a count that is read without a parser. */
const maxDigits = 15;

/** Whether `input` has `text` at `at`. Six times as fast as `startsWith`, which compares letter by letter (measured, V8 14). */
function hasTextAt(text: string, input: string, at: number): boolean {
  return input.slice(at, at + text.length) === text;
}

/** Returns where the whole number at `from` ends. Undefined when JSON allows no such number. */
function countEnd(input: string, from: number): number | undefined {
  let at = from;
  for (let code = input.charCodeAt(at); code >= 0x30 && code <= 0x39; code = input.charCodeAt(at)) at += 1;
  const digits = at - from;
  if (digits === 0 || digits > maxDigits || (digits > 1 && input.charCodeAt(from) === 0x30)) return undefined;
  return at;
}

/**
 * The bytes after the text of a chunk, split at the counts of the usage block, or one piece when there is no such block.
 * `usageFrom` is where the block begins in the first piece, `usageTo` where it ends in the last.
 */
interface Tail {
  readonly pieces: readonly [string, ...string[]];
  readonly usageFrom: number;
  readonly usageTo: number;
}

function tailOf(prefix: string, suffix: string): Tail {
  for (const { index, 0: key } of suffix.matchAll(/"usage"\s*:\s*(?=\{)/g)) {
    const from = index + key.length;
    const to = valueEnd(suffix, from);
    const chunk = parseJson(`${prefix}${suffix.slice(0, from)}"${probe}"${suffix.slice(to)}`);
    if (!isObject(chunk) || chunk['usage'] !== probe) continue;
    const [first = '', ...others] = suffix.slice(from, to).split(/(?<=:\s*)\d+(?=\s*[,}])/);
    const [last = '', ...between] = others.toReversed();
    if (others.length === 0) break;
    const pieces: Tail['pieces'] = [suffix.slice(0, from) + first, ...between.toReversed(), last + suffix.slice(to)];
    return { pieces, usageFrom: from, usageTo: last.length };
  }
  return { pieces: [suffix], usageFrom: 0, usageTo: 0 };
}

const isAbsent = (value: unknown): boolean => value === undefined || value === null;

const isPlain = (value: unknown): boolean => isAbsent(value) || typeof value === 'string';

const isEmpty = (value: unknown): boolean => !isObject(value) && !(Array.isArray(value) && value.length > 0);

/**
 * Returns the text of a chunk, as the engine sent it, when the chunk holds one piece of text and nothing else but perhaps its
 * running usage. Returns undefined for every other chunk.
 */
export function soleText(chunk: JsonObject): TextEvent | undefined {
  const { choices } = chunk;
  if (!isAbsent(chunk['error']) || chunk['object'] === 'error') return undefined;
  if (!isAbsent(chunk['timings']) || !isAbsent(chunk['x_groq'])) return undefined;
  const choice: unknown = Array.isArray(choices) && choices.length === 1 ? choices[0] : undefined;
  if (!isObject(choice) || !isObject(choice['delta']) || !Number.isInteger(choice['index'])) return undefined;
  if (
    finishWordOf(choice['finish_reason']) !== undefined ||
    !isAbsent(choice['logprobs']) ||
    !isAbsent(choice['usage'])
  ) {
    return undefined;
  }
  const { delta } = choice;
  if (textOf(delta['refusal']) !== undefined || !isEmpty(delta['tool_calls'])) return undefined;
  if (isObject(delta['function_call'])) return undefined;
  if (
    !['content', 'refusal', 'reasoning_content', 'reasoning', 'reasoning_details'].every((name) => isPlain(delta[name]))
  )
    return undefined;
  const text = textOf(delta['content']);
  const reasoning = textOf(delta['reasoning_content']) ?? textOf(delta['reasoning']);
  const sole = text === undefined ? reasoning : reasoning === undefined ? text : undefined;
  if (sole === undefined) return undefined;
  const type = text === undefined ? 'reasoning-delta' : 'text-delta';
  return { type, choice: Number(choice['index']), text: sole, deltas: 1 };
}
