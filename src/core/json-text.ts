import { isObject, type JsonObject } from './json.ts';
import { endsInEscape } from './json-scan.ts';

/**
 * JSON that is passed on as it was sent. Numbers of JavaScript are doubles, and its objects sort integer-like keys and keep one of
 * two equal keys: whatever is parsed and written again comes out as other JSON. So the parser keeps the text of the objects that are
 * passed on, and writing them takes that text.
 */
const texts = new WeakMap<object, string>();

/** No object that is passed on is deeper in a body. */
const maxLevels = 16;

const quote = 0x22;
const comma = 0x2c;
const openBrace = 0x7b;
const isOpening = (code: number): boolean => code === openBrace || code === 0x5b;
const isClosing = (code: number): boolean => code === 0x7d || code === 0x5d;

/** The names of the members whose objects keep their text. */
type KeptNames = ReadonlySet<string>;

export const keptNames = (...names: readonly string[]): KeptNames => new Set(names);

/** A text without the only name is not walked through. A search for several names takes longer than the walk. */
const mayHold = (text: string, names: KeptNames): boolean =>
  names.size > 1 || names.values().some((name) => text.includes(`"${name}"`));

/**
 * Parses JSON, and keeps the text of each object under these names, objects inside of such an object excepted. Throws what
 * `JSON.parse` throws.
 */
export function parseKeepingText(text: string, names: KeptNames): unknown {
  const value: unknown = JSON.parse(text);
  if (mayHold(text, names)) keepTexts({ text, names }, { from: afterSpace(text, 0), value, levels: maxLevels });
  return value;
}

/** The JSON text of an object: as it was sent, if its text was kept. */
export const textOfObject = (value: object): string => texts.get(value) ?? JSON.stringify(value);

/** Writes an object as `JSON.stringify` does, with the kept texts of the objects in it. */
export function writeKeepingText(value: object): string {
  const kept = texts.get(value);
  if (kept !== undefined) return kept;
  if (Array.isArray(value)) return `[${value.map((item: unknown) => writeValue(item) ?? 'null').join(',')}]`;
  const members = Object.entries(value).flatMap(([name, inner]) => {
    const written = writeValue(inner);
    return written === undefined ? [] : [`${JSON.stringify(name)}:${written}`];
  });
  return `{${members.join(',')}}`;
}

/** Undefined for a value that JSON does not have. */
const writeValue = (value: unknown): string | undefined =>
  typeof value === 'object' && value !== null ? writeKeepingText(value) : JSON.stringify(value);

/** The object without a member. What is left keeps its text. */
export function withoutMember(value: JsonObject, name: string): JsonObject {
  const { [name]: left, ...rest } = value;
  const text = texts.get(value);
  if (left === undefined || text === undefined) return left === undefined ? value : rest;
  const members: string[] = [];
  for (let at = afterSpace(text, 1); !isClosing(text.charCodeAt(at));) {
    const keyEnd = stringEnd(text, at);
    const end = valueEnd(text, valueStart(text, keyEnd));
    if (nameOf(text.slice(at, keyEnd)) !== name) members.push(text.slice(at, end));
    at = nextItem(text, end);
  }
  texts.set(rest, `{${members.join(',')}}`);
  return rest;
}

/** A value of a text, of which it is known where it begins. */
interface Located {
  readonly from: number;
  readonly value: unknown;
  /** How much deeper the search goes. */
  readonly levels: number;
}

/** Walks through a text and its value at the same time. Returns where the value ends in the text, which is JSON. */
function keepTexts(
  source: { readonly text: string; readonly names: KeptNames },
  { from, value, levels }: Located,
): number {
  const { text, names } = source;
  if (levels === 0 || typeof value !== 'object' || value === null || !isOpening(text.charCodeAt(from))) {
    return valueEnd(text, from);
  }
  const hasNames = text.charCodeAt(from) === openBrace;
  let at = afterSpace(text, from + 1);
  for (let index = 0; !isClosing(text.charCodeAt(at)); index += 1) {
    const keyEnd = hasNames ? stringEnd(text, at) : at;
    const name = hasNames ? nameOf(text.slice(at, keyEnd)) : '';
    const start = hasNames ? valueStart(text, keyEnd) : at;
    const inner: unknown = isObject(value) ? value[name] : Array.isArray(value) ? value[index] : undefined;
    if (isObject(inner) && names.has(name)) {
      at = valueEnd(text, start);
      // Of two equal names the last one counts, as for the parser.
      texts.set(inner, text.slice(start, at));
    } else at = keepTexts(source, { from: start, value: inner, levels: levels - 1 });
    at = nextItem(text, at);
  }
  return at + 1;
}

const nameOf = (key: string): string => (key.includes('\\') ? String(JSON.parse(key)) : key.slice(1, -1));

function afterSpace(text: string, from: number): number {
  let at = from;
  while (text.charCodeAt(at) <= 0x20) at += 1;
  return at;
}

/** Where the value of a key begins. */
const valueStart = (text: string, keyEnd: number): number => afterSpace(text, afterSpace(text, keyEnd) + 1);

/** Where the item or the closing bracket after a value begins. */
function nextItem(text: string, valueEnds: number): number {
  const at = afterSpace(text, valueEnds);
  return text.charCodeAt(at) === comma ? afterSpace(text, at + 1) : at;
}

/** Where the string that begins at `from` ends. */
function stringEnd(text: string, from: number): number {
  for (let at = from + 1; ;) {
    const end = text.indexOf('"', at);
    if (end === -1) return text.length;
    if (!endsInEscape(text, at, end)) return end + 1;
    at = end + 1;
  }
}

/** Where the value that begins at `from` ends. */
export function valueEnd(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at < text.length;) {
    const code = text.charCodeAt(at);
    if (code === quote) at = stringEnd(text, at);
    else if (depth === 0 && (code === comma || code <= 0x20 || isClosing(code))) return at;
    else {
      if (isOpening(code)) depth += 1;
      else if (isClosing(code)) depth -= 1;
      at += 1;
      // A number or a word goes on until something else begins.
      if (!isClosing(code)) continue;
    }
    if (depth === 0) return at;
  }
  return text.length;
}
