import type { TextEvent } from '../../../core/event.ts';
import { isObject, type JsonObject } from '../../../core/json.ts';
import { isAbsent, objectsOf, unreadable, wordOf } from './read-field.ts';

/** The content of a delta or of a whole message. */
interface ReadMessage {
  readonly source: 'delta' | 'message';
  /** As it came. */
  readonly whole: JsonObject;
  /** Its pieces, in order. */
  readonly reasoning: readonly string[];
  readonly text: string;
  readonly refusal: string;
  /** Its tool calls, or the pieces of them. */
  readonly fragments: readonly JsonObject[];
}

/** Reads the delta or the message of a choice. Undefined: there is none. A name: this field has a value that means nothing to us. */
export function readMessage(choice: JsonObject): ReadMessage | string | undefined {
  const source = isObject(choice['delta']) ? 'delta' : 'message';
  const delta = deltaOf(choice);
  if (delta === unreadable) return source;
  if (delta === undefined) return undefined;
  const trace = piecesOf(reasoningOf(delta), 'reasoning-delta');
  const content = piecesOf(delta['content'], 'text-delta');
  const refusals = piecesOf(delta['refusal'] === false ? undefined : delta['refusal'], 'refusal-delta');
  const fragments = fragmentsOf(delta);
  if (trace === unreadable) return 'reasoning';
  if (content === unreadable) return 'content';
  if (refusals === unreadable) return 'refusal';
  if (fragments === unreadable) return 'tool_calls';
  const said = [...trace, ...content, ...refusals];
  const textsOf = (type: Piece['type']): readonly string[] =>
    said.flatMap((piece) => (piece.type === type ? [piece.text] : []));
  const [text, refusal] = [textsOf('text-delta').join(''), textsOf('refusal-delta').join('')];
  return { source, whole: delta, reasoning: textsOf('reasoning-delta'), text, refusal, fragments };
}

/** The delta or the message of a choice. Some engines send nothing but its text. */
function deltaOf(choice: JsonObject): JsonObject | typeof unreadable | undefined {
  const delta = choice['delta'] ?? choice['message'];
  if (isObject(delta)) return delta;
  if (typeof delta === 'string' || Array.isArray(delta)) return { content: delta };
  if (delta !== undefined && delta !== null) return unreadable;
  return choice['text'] === undefined ? undefined : { content: choice['text'] };
}

/** The pieces of tool calls in a delta. Older engines send a single call in a field of its own. */
function fragmentsOf(delta: JsonObject): readonly JsonObject[] | typeof unreadable {
  const calls = objectsOf(delta['tool_calls']);
  if (calls === unreadable || calls.length > 0) return calls;
  const called = objectsOf(delta['function_call']);
  return called === unreadable ? called : called.slice(0, 1).map((call) => ({ index: 0, function: call }));
}

/** A text of one kind. */
type Piece = Pick<TextEvent, 'type' | 'text'>;
type Read = readonly Piece[] | typeof unreadable;

/** Maximum number of lists and parts inside each other. */
const maxDepth = 8;

/** The fields of a part that hold its text, in the order in which they count. */
const reasoningFields = [
  ...(['thinking', 'reasoning', 'reasoning_content', 'reasoningContent'] as const),
  ...(['reasoning_text', 'reasoningText', 'summary'] as const),
];
const textFields = ['text', 'output_text', 'content', 'value', 'parts'] as const;

/** Parts without text: sealed reasoning, its signature, and the numbers of sources. */
const textless = /redact|encrypt|signature|referenc|citation|annotation/;

/**
 * Reads text as a string, a part (`{type, text}`), or a list of these, in any depth. `type`: what plain text is here. A part can say
 * that it is reasoning or a refusal.
 */
function piecesOf(value: unknown, type: Piece['type'], depth = 0): Read {
  if (isAbsent(value)) return [];
  if (typeof value === 'string') return [{ type, text: value }];
  if (depth > maxDepth) return unreadable;
  if (isObject(value)) return piecesOfPart(value, type, depth + 1);
  return Array.isArray(value) ? joined(value.map((item) => piecesOf(item, type, depth + 1))) : unreadable;
}

function piecesOfPart(part: JsonObject, type: Piece['type'], depth: number): Read {
  const kind = wordOf(part['type'])?.toLowerCase() ?? '';
  if (textless.test(kind)) return [];
  const isReasoning = type === 'reasoning-delta' || part['thought'] === true || /think|reason|summary/.test(kind);
  const own = isReasoning ? 'reasoning-delta' : /refus/.test(kind) ? 'refusal-delta' : type;
  const field = (names: readonly string[]): string | undefined => names.find((name) => !isAbsent(part[name]));
  const found = [
    [field(reasoningFields), 'reasoning-delta'],
    [field(textFields), own],
    [field(['refusal']), 'refusal-delta'],
  ] as const;
  const read = found.flatMap(([name, as]): readonly Read[] =>
    name === undefined ? [] : [piecesOf(part[name], as, depth)],
  );
  // A known part may have no text yet.
  const isKnown = /text|think|reason|summary|refus/.test(kind) || textFields.some((name) => name in part);
  return read.length === 0 && !isKnown ? unreadable : joined(read);
}

/** Joins pieces. Consecutive pieces of the same kind become one. */
function joined(read: readonly Read[]): Read {
  const pieces: Piece[] = [];
  for (const some of read) {
    if (some === unreadable) return unreadable;
    for (const { type, text } of some) {
      const last = pieces.at(-1);
      if (last?.type === type) pieces[pieces.length - 1] = { type, text: last.text + text };
      else pieces.push({ type, text });
    }
  }
  return pieces;
}

/** The field in which an engine reports its reasoning apart from the text. Values that stand for none are passed over. */
function reasoningOf(delta: JsonObject): unknown {
  const isNone = (value: unknown): boolean =>
    isAbsent(value) || value === false || (typeof value === 'object' && Object.keys(value ?? {}).length === 0);
  return ['reasoning_content', 'reasoning', 'reasoning_details'].map((name) => delta[name]).find((one) => !isNone(one));
}
