/** Reads JSON text piece by piece (RFC 8259): a synchronous machine whose time and memory grow in proportion to the text. */
interface JsonPrefix {
  /** Whether the text so far can still become JSON. Once false, always false. */
  readonly push: (text: string) => boolean;
  /** Whether the text so far is complete JSON. */
  readonly isWhole: () => boolean;
}

/** What may come next. White space may precede it. */
type Expected =
  | 'value'
  /** A value, or the end of its empty array. */
  | 'first-item'
  /** A key, or the end of its empty object. */
  | 'first-key'
  | 'key'
  | 'colon'
  /** What may follow a value: a comma, the end of its container, or the end of the text. */
  | 'after';

type State = Expected | NumberPart | 'string' | 'escape' | 'hex' | 'literal' | 'broken';

const literals: ReadonlyMap<string, string> = new Map([
  ['t', 'rue'],
  ['f', 'alse'],
  ['n', 'ull'],
]);

const isHexDigit = (character: string): boolean =>
  isDigit(character) || (character >= 'a' && character <= 'f') || (character >= 'A' && character <= 'F');

/** White space in JSON: four characters, fewer than in JavaScript. */
export const isJsonSpace = (character: string): boolean =>
  character === ' ' || character === '\n' || character === '\r' || character === '\t';

/** Where in the text the reading is. */
interface Reading {
  state: State;
  /** The closing brackets of all open containers, innermost last. */
  readonly open: ('}' | ']')[];
  isKey: boolean;
  /** The part of a literal that has not arrived yet. */
  rest: string;
  hexDigits: number;
}

const beginning = (): Reading => ({ state: 'value', open: [], isKey: false, rest: '', hexDigits: 0 });

export function createJsonPrefix(): JsonPrefix {
  const reading = beginning();
  return {
    push: (text) => {
      for (let at = 0; at < text.length && reading.state !== 'broken'; at += 1) {
        reading.state = step(reading, text.charAt(at));
      }
      return reading.state !== 'broken';
    },
    isWhole: () => reading.open.length === 0 && (reading.state === 'after' || isWholeNumber(reading.state)),
  };
}

/**
 * Ends JSON text that was cut off: closes its open strings, lists and objects. Leaves out a key, number or word that is not complete.
 * Undefined: the text is not the beginning of JSON.
 */
export function endJson(text: string): string | undefined {
  const reading = beginning();
  /** The text up to here is complete except for closing brackets. */
  let completeTo = 0;
  let escapeFrom = 0;
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charAt(at);
    const next = step(reading, character);
    reading.state = next;
    if (next === 'broken') return undefined;
    if (next === 'escape') escapeFrom = at;
    if (next === 'after' || next === 'first-key' || next === 'first-item') completeTo = at + 1;
    else if (character === ',' && (next === 'key' || next === 'value')) completeTo = at;
  }
  const { state, isKey, open } = reading;
  const isText = !isKey && (state === 'string' || state === 'escape' || state === 'hex');
  if (isText) return `${text.slice(0, state === 'string' ? text.length : escapeFrom)}"${closing(open)}`;
  // Nothing was opened or closed after the last complete place.
  return text.slice(0, completeTo) + closing(open);
}

const closing = (open: Reading['open']): string => open.toReversed().join('');

function step(reading: Reading, character: string): State {
  const { state } = reading;
  switch (state) {
    case 'broken':
      return 'broken';
    case 'string':
      return inString(reading, character);
    case 'escape':
      return afterBackslash(reading, character);
    case 'hex':
      return inHex(reading, character);
    case 'literal':
      return inLiteral(reading, character);
    case 'value':
    case 'first-item':
    case 'first-key':
    case 'key':
    case 'colon':
    case 'after':
      return betweenTokens(reading, state, character);
    case 'minus':
    case 'zero':
    case 'integer':
    case 'point':
    case 'fraction':
    case 'exponent':
    case 'exponent-sign':
    case 'exponent-digits': {
      const next = nextInNumber(state, character);
      if (next !== undefined) return next;
      return isWholeNumber(state) ? betweenTokens(reading, 'after', character) : 'broken';
    }
  }
}

function beginValue(reading: Reading, character: string): State {
  switch (character) {
    case '{':
      reading.open.push('}');
      return 'first-key';
    case '[':
      reading.open.push(']');
      return 'first-item';
    case '"':
      reading.isKey = false;
      return 'string';
    case '-':
      return 'minus';
    case '0':
      return 'zero';
    default:
      if (isDigit(character)) return 'integer';
      reading.rest = literals.get(character) ?? '';
      return reading.rest === '' ? 'broken' : 'literal';
  }
}

function beginKey(reading: Reading, character: string): State {
  reading.isKey = true;
  return character === '"' ? 'string' : 'broken';
}

function afterValue(reading: Reading, character: string): State {
  const end = reading.open.at(-1);
  if (end === undefined) return 'broken';
  if (character === ',') return end === '}' ? 'key' : 'value';
  return character === end ? close(reading) : 'broken';
}

function close(reading: Reading): State {
  reading.open.pop();
  return 'after';
}

function inString(reading: Reading, character: string): State {
  if (character === '"') return reading.isKey ? 'colon' : 'after';
  if (character === '\\') return 'escape';
  return character < ' ' ? 'broken' : 'string';
}

function afterBackslash(reading: Reading, character: string): State {
  reading.hexDigits = 0;
  return character === 'u' ? 'hex' : '"\\/bfnrt'.includes(character) ? 'string' : 'broken';
}

function inHex(reading: Reading, character: string): State {
  if (!isHexDigit(character)) return 'broken';
  reading.hexDigits += 1;
  return reading.hexDigits === 4 ? 'string' : 'hex';
}

function inLiteral(reading: Reading, character: string): State {
  if (!reading.rest.startsWith(character)) return 'broken';
  reading.rest = reading.rest.slice(1);
  return reading.rest === '' ? 'after' : 'literal';
}

/** The step between tokens: white space may come first. */
function betweenTokens(reading: Reading, expected: Expected, character: string): State {
  if (isJsonSpace(character)) return expected;
  switch (expected) {
    case 'value':
      return beginValue(reading, character);
    case 'first-item':
      return character === ']' ? close(reading) : beginValue(reading, character);
    case 'first-key':
      return character === '}' ? close(reading) : beginKey(reading, character);
    case 'key':
      return beginKey(reading, character);
    case 'colon':
      return character === ':' ? 'value' : 'broken';
    case 'after':
      return afterValue(reading, character);
  }
}

/** Parts of a number in JSON (RFC 8259 §6), named after what has been read last. */
type NumberPart =
  | 'minus'
  | 'zero'
  | 'integer'
  | 'point'
  | 'fraction'
  | 'exponent'
  | 'exponent-sign'
  | 'exponent-digits';

const isDigit = (character: string): boolean => character >= '0' && character <= '9';

/** Whether a number may end after this part. */
function isWholeNumber(part: string): boolean {
  return part === 'zero' || part === 'integer' || part === 'fraction' || part === 'exponent-digits';
}

/** The next part; undefined when the character does not belong to the number. */
function nextInNumber(part: NumberPart, character: string): NumberPart | undefined {
  const isExponent = character === 'e' || character === 'E';
  switch (part) {
    case 'minus':
      return character === '0' ? 'zero' : isDigit(character) ? 'integer' : undefined;
    case 'zero':
    case 'integer':
      if (part === 'integer' && isDigit(character)) return 'integer';
      return character === '.' ? 'point' : isExponent ? 'exponent' : undefined;
    case 'point':
      return isDigit(character) ? 'fraction' : undefined;
    case 'fraction':
      return isDigit(character) ? 'fraction' : isExponent ? 'exponent' : undefined;
    case 'exponent':
      if (character === '+' || character === '-') return 'exponent-sign';
      return isDigit(character) ? 'exponent-digits' : undefined;
    case 'exponent-sign':
    case 'exponent-digits':
      return isDigit(character) ? 'exponent-digits' : undefined;
  }
}
