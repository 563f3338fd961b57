import { isObject, type JsonObject } from '../../../core/json.ts';
import { isAbsent, objectsOf, unreadable, wordOf } from './read-field.ts';

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
  const said: Said = { reasoning: [], text: '', refusal: '', latest: undefined };
  if (!collect(reasoningOf(delta), 'reasoning', said)) return 'reasoning';
  if (!collect(delta['content'], 'text', said)) return 'content';
  if (delta['refusal'] !== false && !collect(delta['refusal'], 'refusal', said)) return 'refusal';
  const fragments = fragmentsOf(delta);
  if (fragments === unreadable) return 'tool_calls';
  const { reasoning, text, refusal } = said;
  return { source, whole: delta, reasoning, text, refusal, fragments };
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

type Kind = 'reasoning' | 'text' | 'refusal';

/** What was read so far. */
interface Said {
  readonly reasoning: string[];
  text: string;
  refusal: string;
  latest: Kind | undefined;
}

/** Consecutive pieces of reasoning are one. */
function add(text: string, kind: Kind, said: Said): void {
  if (kind !== 'reasoning') said[kind] += text;
  else if (said.latest === 'reasoning') said.reasoning.push((said.reasoning.pop() ?? '') + text);
  else said.reasoning.push(text);
  said.latest = kind;
}

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
 * Reads text as a string, a part (`{type, text}`), or a list of these, in any depth. `kind`: what plain text is here. A part can say
 * that it is reasoning or a refusal. False: the value means nothing to us.
 */
function collect(value: unknown, kind: Kind, said: Said, depth = 0): boolean {
  if (isAbsent(value)) return true;
  if (typeof value === 'string') {
    add(value, kind, said);
    return true;
  }
  if (depth > maxDepth) return false;
  if (isObject(value)) return collectPart(value, kind, said, depth + 1);
  return Array.isArray(value) && value.every((item) => collect(item, kind, said, depth + 1));
}

function collectPart(part: JsonObject, kind: Kind, said: Said, depth: number): boolean {
  const type = wordOf(part['type'])?.toLowerCase() ?? '';
  if (textless.test(type)) return true;
  const isReasoning = kind === 'reasoning' || part['thought'] === true || /think|reason|summary/.test(type);
  const own = isReasoning ? 'reasoning' : /refus/.test(type) ? 'refusal' : kind;
  const fields = [
    [reasoningFields, 'reasoning'],
    [textFields, own],
    [['refusal'], 'refusal'],
  ] as const;
  // A known part may have no text yet.
  let isKnown = /text|think|reason|summary|refus/.test(type) || textFields.some((name) => name in part);
  for (const [names, as] of fields) {
    const name = names.find((one) => !isAbsent(part[one]));
    if (name === undefined) continue;
    if (!collect(part[name], as, said, depth)) return false;
    isKnown = true;
  }
  return isKnown;
}

/** The fields in which engines report reasoning apart from the text. */
const traces = ['reasoning_content', 'reasoning', 'reasoning_details'] as const;

/** Values that stand for no reasoning are passed over. */
const isNone = (value: unknown): boolean =>
  isAbsent(value) || value === false || (typeof value === 'object' && Object.keys(value ?? {}).length === 0);

function reasoningOf(delta: JsonObject): unknown {
  for (const name of traces) if (!isNone(delta[name])) return delta[name];
  return undefined;
}
