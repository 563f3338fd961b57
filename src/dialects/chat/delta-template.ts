import type { TextEvent } from '../../core/event.ts';
import { isObject, parseJson } from '../json.ts';

/**
 * An engine's chunks differ in nothing but their text. Once one was parsed, the next one that has the same bytes before
 * and after its text, and no quote or backslash in it, can only mean the same with that text: no need to parse it.
 */
export interface DeltaTemplate {
  /** The text of a chunk that fits; undefined when it does not fit and must be parsed. */
  readonly match: (payload: string) => string | undefined;
  readonly type: TextEvent['type'];
  readonly choice: number;
}

const probe = 'weir probe';

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
  const shortest = prefix.length + suffix.length;
  return {
    type: event.type,
    choice: event.choice,
    match: (candidate) => {
      if (candidate.length <= shortest || !candidate.startsWith(prefix) || !candidate.endsWith(suffix))
        return undefined;
      const text = candidate.slice(prefix.length, candidate.length - suffix.length);
      return text.includes('"') || text.includes('\\') ? undefined : text;
    },
  };
}
