import type { AnswerEvent, TextEvent } from '../core/event.ts';
import type { DeliveredChoice } from './delivered.ts';
import { holdPieces } from './held-pieces.ts';
import { type Join, joinEach } from './join.ts';
import type { Seam } from './seam.ts';

/** Least of a trace that tells it from another one, UTF-16 units. */
const leastTrace = 8;

/** Whether a trace begins as another did. */
function beginsAlike(one: string, other: string): boolean {
  const length = Math.min(one.length, other.length);
  return length >= leastTrace && one.startsWith(other.slice(0, length));
}

/**
 * Joins an answer that an engine continues from its partial text. Reasoning that comes before the first text is held back:
 * with text after it, or when it begins as the delivered trace did, the engine has reasoned anew, which the caller need not see;
 * else it has filed the rest of the text in the wrong place (docs/reference/engines.md §5).
 */
export function continueText(seam: Seam, delivered: Pick<DeliveredChoice, 'reasoning' | 'text'>): Join {
  const held = holdPieces(seam);
  let isOver = false;
  let hasSaidText = false;
  let trace = '';
  let traceDeltas = 0;

  const isMisfiled = (event: AnswerEvent): boolean =>
    event.type === 'finish' && !hasSaidText && trace !== '' && !beginsAlike(trace, delivered.reasoning);

  /** The text has ended: something else comes. */
  function endText(event: AnswerEvent & { readonly choice: number }, out: AnswerEvent[]): boolean {
    if (isOver) return true;
    isOver = true;
    if (isMisfiled(event)) {
      const text: TextEvent = { type: 'text-delta', choice: event.choice, text: trace, deltas: traceDeltas };
      trace = '';
      if (!held.push(text, out)) return false;
    }
    return held.end(event.choice, out);
  }

  return joinEach(
    (event, out) => {
      switch (event.type) {
        case 'usage':
          break;
        case 'reasoning-delta':
          if (hasSaidText || isOver) break;
          trace += event.text;
          traceDeltas += event.deltas;
          return true;
        case 'text-delta':
          hasSaidText = true;
          if (!isOver) return held.push(event, out);
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
    () => {
      const text = seam.repeated();
      const all = text === delivered.text && (trace !== '') === (delivered.reasoning !== '');
      const texts = [trace, text].filter((part) => part !== '');
      return { all, texts, deltas: held.repeatedDeltas() + (trace === '' ? 0 : traceDeltas) };
    },
  );
}
