import type { RequestTarget } from '../../../core/capability.ts';
import { isObject, type JsonObject } from '../../../core/json.ts';

/** A call as the engine knows it. */
export interface EngineCall {
  readonly id?: string | undefined;
  readonly fields?: JsonObject | undefined;
}

/** The opaque state of one choice of an answer. */
export interface AnswerState {
  /** The fields of its message. */
  readonly fields: JsonObject | undefined;
  /** By our ids: what became known of calls after the caller got their ids. */
  readonly calls: Readonly<Record<string, EngineCall>>;
}

/** Names the model that an engine's fields belong to. */
export const stateOwner = ({ engine, upstreamModel }: Pick<RequestTarget, 'engine' | 'upstreamModel'>): string =>
  `${engine} ${upstreamModel}`;

/** Names that say what they are: `thought_signature`, `encrypted_content`, `reasoning_opaque`, … */
const opaqueName = /signature|encrypted|opaque|redacted/i;

/** Fields that carry opaque parts among others, in the words of Gemini, LiteLLM, OpenRouter and gateways like them. */
const carriers: ReadonlySet<string> = new Set([
  'extra_content',
  'provider_specific_fields',
  'provider_metadata',
  'provider_options',
  'reasoning_details',
  'thinking_blocks',
]);

/** Whether some text in a value stands under an opaque name, or is the data of a carrier's part. */
function holdsOpaque(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(holdsOpaque);
  if (!isObject(value)) return false;
  return Object.entries(value).some(([name, inner]) =>
    opaqueName.test(name) || name === 'data' ? isFilled(inner) : holdsOpaque(inner),
  );
}

function isFilled(value: unknown): boolean {
  if (typeof value === 'string') return value !== '';
  return typeof value === 'object' && value !== null && Object.values(value).some(isFilled);
}

/**
 * The fields of a message, a delta or a call that only the engine can read. They are returned to it with the next turn. Undefined:
 * there are none.
 */
export function opaqueFields(source: JsonObject): JsonObject | undefined {
  let found: Record<string, unknown> | undefined;
  for (const name of Object.keys(source)) {
    const value = source[name];
    if (typeof value !== 'string' && (typeof value !== 'object' || value === null)) continue;
    if (carriers.has(name) || opaqueName.test(name)) found = { ...found, [name]: value };
  }
  return found;
}

/** Fields of which the pieces of a stream are joined. */
const joined: ReadonlySet<string> = new Set(['text', 'summary', 'thinking']);

/** Adds the fields of a later piece. Lists grow, texts of parts are joined, other values are replaced. */
export function mergeFields(before: JsonObject | undefined, after: JsonObject | undefined): JsonObject | undefined {
  if (before === undefined || after === undefined) return before ?? after;
  const merged: Record<string, unknown> = { ...before };
  for (const [name, value] of Object.entries(after)) {
    const known = before[name];
    if (Array.isArray(known) && Array.isArray(value)) merged[name] = mergeLists(known, value);
    else if (isObject(known) && isObject(value)) merged[name] = mergeFields(known, value);
    else if (typeof known === 'string' && typeof value === 'string' && joined.has(name)) merged[name] = known + value;
    else if (value !== null) merged[name] = value;
  }
  return merged;
}

/** Pieces of one part follow each other, with the same type and index. Without an index, its signature ends a part. */
function mergeLists(before: readonly unknown[], after: readonly unknown[]): readonly unknown[] {
  const [first, ...rest] = after;
  const last = before.at(-1);
  const isSame =
    isObject(first) &&
    isObject(last) &&
    first['index'] === last['index'] &&
    first['type'] === last['type'] &&
    (first['index'] !== undefined || (typeof first['type'] === 'string' && !holdsOpaque(last)));
  return isSame ? [...before.slice(0, -1), mergeFields(last, first), ...rest] : [...before, ...after];
}

/** Most characters of the fields of one choice. A larger state is dropped: no engine could read a part of it. */
const maxCharacters = 1024 * 1024;

/** Collects the opaque fields of one choice's message. */
export function createStateCollector() {
  let left = maxCharacters;
  let collected: JsonObject | undefined;
  return {
    take: (delta: JsonObject): void => {
      const { content } = delta;
      const fields = opaqueFields(delta);
      const piece = Array.isArray(content) ? { ...fields, content } : fields;
      if (piece === undefined || left < 0) return;
      left -= JSON.stringify(piece).length;
      collected = left < 0 ? undefined : mergeFields(collected, piece);
    },
    /** Undefined: there are none worth a way to the caller and back. */
    fields: (): JsonObject | undefined => {
      // A trace or a text in parts is in the answer as well, and a mark of a piece is not one of the whole message.
      const kept = Object.entries(collected ?? {}).filter(([name, value]) =>
        name === 'content' || (name !== 'extra_content' && carriers.has(name)) ? holdsOpaque(value) : isFilled(value),
      );
      return kept.length === 0 ? undefined : Object.fromEntries(kept);
    },
  };
}
