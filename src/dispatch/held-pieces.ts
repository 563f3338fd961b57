import type { AnswerEvent, TextEvent } from '../core/event.ts';
import type { Seam } from './seam.ts';

/** Pieces of text on their way through a seam: those that it holds back keep the probabilities of their tokens. */
export interface HeldPieces {
  /** Adds what is new. False on a contradiction. */
  readonly push: (event: TextEvent, out: AnswerEvent[]) => boolean;
  /** No more text comes. False on a contradiction. */
  readonly end: (choice: number, out: AnswerEvent[]) => boolean;
  /** The engine's own deltas in what the seam took off because it had been said before. */
  readonly repeatedDeltas: () => number;
}

/** The text of a token, as engines report it beside its probability. */
function tokenText(entry: unknown): string {
  const token = typeof entry === 'object' && entry !== null && 'token' in entry ? entry.token : '';
  return typeof token === 'string' ? token : '';
}

/** Probabilities of the tokens that remain when this many UTF-16 units are taken off the front. */
function withoutFront(tokens: readonly unknown[], units: number): readonly unknown[] {
  let at = 0;
  let left = units;
  while (left > 0 && at < tokens.length) left -= tokenText(tokens[at++]).length;
  return tokens.slice(at);
}

export function holdPieces(seam: Seam): HeldPieces {
  let heldUnits = 0;
  let heldDeltas = 0;
  let tokens: unknown[] = [];
  let repeatedDeltas = 0;

  function release(text: string, choice: number, out: AnswerEvent[]): void {
    const takenUnits = heldUnits - text.length;
    const content = withoutFront(tokens, takenUnits);
    // A delta is about a token: what was taken off had its share of them.
    const taken = heldUnits === 0 ? 0 : Math.round((heldDeltas * takenUnits) / heldUnits);
    // An echo is not written, and so not counted.
    if (seam.repeated() !== '') repeatedDeltas += taken;
    const deltas = heldDeltas - taken;
    heldUnits = 0;
    heldDeltas = 0;
    tokens = [];
    if (text === '' && content.length === 0) return;
    out.push({ type: 'text-delta', choice, text, deltas, ...(content.length === 0 ? {} : { logprobs: { content } }) });
  }

  return {
    repeatedDeltas: () => repeatedDeltas,
    push: (event, out) => {
      const text = seam.push(event.text);
      if (text === undefined) return false;
      if (heldUnits === 0 && text === event.text) {
        if (text !== '' || event.logprobs !== undefined) out.push(event);
        return true;
      }
      heldUnits += event.text.length;
      heldDeltas += event.deltas;
      tokens.push(...(event.logprobs?.content ?? []));
      if (text !== '' || seam.repeated() !== '') release(text, event.choice, out);
      return true;
    },
    end: (choice, out) => {
      const text = seam.end();
      if (text === undefined) return false;
      if (heldUnits > 0) release(text, choice, out);
      return true;
    },
  };
}
