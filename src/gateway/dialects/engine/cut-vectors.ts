export interface CutVector {
  /** The numbers between the brackets of a list, or the characters between the quotation marks of a text, as they came. */
  readonly form: 'numbers' | 'text';
  readonly text: string;
}

/** The field of a vector, up to what opens its value. Before it, `\"` would be a part of a text. */
const vectorField = /(?<!\\)"embedding"\s*:\s*(?=["[])/g;
/** Most characters that the field takes, with some blanks. A piece may end inside of it. */
const fieldLength = 64;

/** Characters of one byte each, whatever they stand for: `rest` decodes them. */
const encoding = 'latin1';

interface CutState {
  /** The parts without vectors, as bytes of their own: a slice would keep the whole text from which it was cut. */
  readonly kept: Buffer[];
  /** The end of what has come, if it may be the beginning of a field. */
  carry: string;
  /** The vector that has begun. */
  open: { readonly form: CutVector['form']; readonly parts: string[] } | undefined;
  count: number;
}

/**
 * Cuts the vectors out of an embeddings answer while it arrives: nearly all of its bytes are vectors, of which JSON.parse would make
 * values of three times their size. What is left is small, and is parsed at the end.
 */
export function createVectorCutter() {
  const state: CutState = { kept: [], carry: '', open: undefined, count: 0 };
  return {
    /** Takes a piece of the answer. Returns the vectors that ended in it, in the order in which they stand. */
    push: (bytes: Uint8Array): readonly CutVector[] =>
      push(state, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString(encoding)),
    /** The answer without its vectors: each is replaced by its number in that order. Undefined: it ended inside of a vector. */
    rest: (): string | undefined => {
      const { kept, carry, open } = state;
      return open === undefined ? Buffer.concat([...kept, Buffer.from(carry, encoding)]).toString() : undefined;
    },
  };
}

function push(state: CutState, piece: string): readonly CutVector[] {
  const cut: CutVector[] = [];
  const text = state.carry + piece;
  state.carry = '';
  for (let at = 0; at < text.length;)
    at = state.open === undefined ? begin(state, text, at) : proceed(state, text, at, cut);
  return cut;
}

/** Looks for the next vector. Returns the place behind what opens it. */
function begin(state: CutState, text: string, from: number): number {
  vectorField.lastIndex = from;
  const found = vectorField.exec(text);
  if (found === null) {
    const rest = Math.max(from, text.length - fieldLength);
    state.kept.push(Buffer.from(text.slice(from, rest), encoding));
    state.carry = text.slice(rest);
    return text.length;
  }
  const end = found.index + found[0].length;
  state.kept.push(Buffer.from(`${text.slice(from, end)}${state.count}`, encoding));
  state.count += 1;
  state.open = { form: text[end] === '[' ? 'numbers' : 'text', parts: [] };
  return end + 1;
}

/** Takes the part of a vector that has come. Returns the place behind it. */
function proceed(state: CutState, text: string, from: number, cut: CutVector[]): number {
  const { form = 'numbers', parts = [] } = state.open ?? {};
  const end = text.indexOf(form === 'numbers' ? ']' : '"', from);
  parts.push(end === -1 ? text.slice(from) : text.slice(from, end));
  if (end === -1) return text.length;
  const [only = ''] = parts;
  cut.push({ form, text: parts.length === 1 ? only : parts.join('') });
  state.open = undefined;
  return end + 1;
}
