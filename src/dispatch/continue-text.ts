import type { AnswerEvent, TextEvent } from '../core/event.ts';
import { type Join, joinEach } from './join.ts';
import type { Seam } from './seam.ts';

const textOf = (event: TextEvent, text: string): TextEvent =>
  text === event.text ? event : { type: event.type, choice: event.choice, text, deltas: event.deltas };

/**
 * Joins an answer that an engine continues from its partial text. Reasoning that comes before the first text is held back:
 * with text after it, the engine has reasoned anew, which the caller need not see; without, it has filed the rest of the text
 * in the wrong place (engines.md §5).
 */
export function continueText(seam: Seam): Join {
  let isOver = false;
  let said = false;
  let misfiled = '';
  let deltas = 0;

  function add(event: TextEvent, out: AnswerEvent[]): boolean {
    const text = seam.push(event.text);
    if (text === undefined) return false;
    if (text !== '' || event.logprobs !== undefined) out.push(textOf(event, text));
    return true;
  }

  /** The text has ended: something else comes. */
  function endText(event: AnswerEvent & { readonly choice: number }, out: AnswerEvent[]): boolean {
    if (isOver) return true;
    isOver = true;
    const { choice } = event;
    if (!said && misfiled !== '' && event.type === 'finish') {
      if (!add({ type: 'text-delta', choice, text: misfiled, deltas }, out)) return false;
    }
    const rest = seam.end();
    if (rest === undefined) return false;
    if (rest !== '') out.push({ type: 'text-delta', choice, text: rest, deltas: 0 });
    return true;
  }

  return joinEach(
    (event, out) => {
      switch (event.type) {
        case 'usage':
          out.push(event);
          return true;
        case 'reasoning-delta':
          if (said || isOver) out.push(event);
          else {
            misfiled += event.text;
            deltas += event.deltas;
          }
          return true;
        case 'text-delta':
          said = true;
          if (!isOver) return add(event, out);
          break;
        case 'refusal-delta':
        case 'tool-start':
        case 'tool-delta':
        case 'finish':
          if (!endText(event, out)) return false;
      }
      out.push(event);
      return true;
    },
    () => false,
  );
}
