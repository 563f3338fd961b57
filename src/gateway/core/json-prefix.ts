/** A text that is JSON (RFC 8259), or the beginning of some. */
interface JsonBeginning {
  readonly isWhole: boolean;
  /**
   * The text with its open strings, lists and objects closed. Leaves out a key, number or word that is not complete, and a
   * number at the very end, because it may go on.
   */
  readonly ended: string;
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

/**
 * Reads a text in one pass. Undefined: nothing that begins like this is JSON. Time and memory grow in proportion to the text, however
 * deep it is nested.
 */
export function readJsonBeginning(text: string): JsonBeginning | undefined {
  /** The closing brackets of all open containers, innermost last. */
  const open: ('}' | ']')[] = [];
  let expected: Expected = 'value';
  /** The text up to here is complete except for closing brackets. */
  let completeTo = 0;
  const ended = (complete: string): string => complete + open.toReversed().join('');

  for (let at = afterJsonSpace(text, 0); at < text.length; at = afterJsonSpace(text, at)) {
    const character = text.charAt(at);
    const isKey: boolean = expected === 'key' || expected === 'first-key';
    if (expected === 'colon') {
      if (character !== ':') return undefined;
      expected = 'value';
      at += 1;
    } else if (closesContainer(expected, open.at(-1), character)) {
      open.pop();
      expected = 'after';
      completeTo = at += 1;
    } else if (expected === 'after') {
      if (character !== ',' || open.length === 0) return undefined;
      completeTo = at;
      expected = open.at(-1) === '}' ? 'key' : 'value';
      at += 1;
    } else if (!isKey && (character === '{' || character === '[')) {
      open.push(character === '{' ? '}' : ']');
      expected = character === '{' ? 'first-key' : 'first-item';
      completeTo = at += 1;
    } else {
      const read = character === '"' ? readString(text, at) : isKey ? undefined : readPlain(text, at);
      if (read === undefined) return undefined;
      if (read.isCut && character === '"' && !isKey)
        return { isWhole: false, ended: ended(`${text.slice(0, read.end)}"`) };
      if (read.isCut) return { isWhole: false, ended: ended(text.slice(0, completeTo)) };
      at = read.end;
      expected = isKey ? 'colon' : 'after';
      if (!isKey && !(at === text.length && isDigit(text.charAt(at - 1)))) completeTo = at;
    }
  }
  return { isWhole: expected === 'after' && open.length === 0, ended: ended(text.slice(0, completeTo)) };
}

/** White space in JSON is four characters, fewer than in JavaScript. */
const isSpace = (code: number): boolean => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;

export function afterJsonSpace(text: string, from: number): number {
  let at = from;
  while (isSpace(text.charCodeAt(at))) at += 1;
  return at;
}

function closesContainer(expected: Expected, closing: '}' | ']' | undefined, character: string): boolean {
  return character === closing && (expected === 'after' || expected === 'first-item' || expected === 'first-key');
}

const isDigit = (character: string): boolean => character >= '0' && character <= '9';

/** Where a match of a sticky pattern ends. Undefined: there is none at this place. */
function endOf(pattern: RegExp, text: string, from: number): number | undefined {
  pattern.lastIndex = from;
  return pattern.test(text) ? pattern.lastIndex : undefined;
}

interface ReadToken {
  /** Of what is complete of it. */
  readonly end: number;
  /** The text ends in the middle of it. */
  readonly isCut: boolean;
}

/** Characters of a string that stand for themselves. */
// oxlint-disable-next-line no-control-regex -- JSON allows them as escapes alone
const plainText = /[^"\\\u0000-\u001f]*/y;
const escape = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y;
const cutEscape = /\\(?:u[\da-fA-F]{0,3})?$/y;

function readString(text: string, from: number): ReadToken | undefined {
  for (let at = endOf(plainText, text, from + 1) ?? from; ; at = endOf(plainText, text, at) ?? at) {
    if (at === text.length) return { end: at, isCut: true };
    if (text.charAt(at) === '"') return { end: at + 1, isCut: false };
    const afterEscape = endOf(escape, text, at);
    if (afterEscape === undefined) return cutAt(cutEscape, text, at);
    at = afterEscape;
  }
}

const numberOrWord = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
const cutNumber = /-?(?:(?:0|[1-9]\d*)(?:\.|(?:\.\d+)?[eE][+-]?))?$/y;
const cutWord = /(?:t(?:ru?)?|f(?:a(?:ls?)?)?|n(?:ul?)?)$/y;

function readPlain(text: string, from: number): ReadToken | undefined {
  const end = endOf(numberOrWord, text, from);
  const goesOn = end === undefined || /[.eE]/.test(text.charAt(end));
  const cut = goesOn ? (cutAt(cutNumber, text, from) ?? cutAt(cutWord, text, from)) : undefined;
  return cut ?? (end === undefined ? undefined : { end, isCut: false });
}

const cutAt = (pattern: RegExp, text: string, at: number): ReadToken | undefined =>
  endOf(pattern, text, at) === undefined ? undefined : { end: at, isCut: true };
