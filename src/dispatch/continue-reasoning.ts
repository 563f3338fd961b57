import type { AnswerEvent } from '../core/event.ts';
import { type Join, joinEach, saidNothingAgain } from './join.ts';
import type { Seam } from './seam.ts';
import { watchText } from './text-watch.ts';

/** Joins an answer that an engine continues from its partial reasoning. */
export function continueReasoning(seam: Seam): Join {
  let isOver = false;

  function endReasoning(choice: number, out: AnswerEvent[]): boolean {
    if (isOver) return true;
    isOver = true;
    const rest = seam.end();
    if (rest === undefined) return false;
    if (rest !== '') out.push({ type: 'reasoning-delta', choice, text: rest, deltas: 0 });
    return true;
  }

  return joinEach(
    (event, out) => {
      if (event.type === 'reasoning-delta' && !isOver) {
        const text = seam.push(event.text);
        if (text === undefined) return false;
        if (text !== '') out.push({ ...event, text });
        return true;
      }
      if (event.type !== 'usage' && !endReasoning(event.choice, out)) return false;
      out.push(event);
      return true;
    },
    () => saidNothingAgain,
  );
}

/** Parts a trace that broke off from one that begins anew. */
const parting = '\n\n';

/**
 * Joins an answer asked for anew after nothing but reasoning had been delivered. As long as it reasons as the other did, it
 * is not shown again; once it differs, the new trace follows the old one, whole.
 */
export function restartReasoning(partial: string): Join {
  const again = watchText(partial);
  let said = '';
  let deltas = 0;
  let phase: 'again' | 'on' | 'anew' = 'again';
  return joinEach(
    (event, out) => {
      if (phase === 'again' && event.type === 'reasoning-delta') {
        said += event.text;
        deltas += event.deltas;
        const fresh = again.push(event.text);
        if (fresh === undefined) phase = 'anew';
        else if (again.isComplete()) phase = 'on';
        const text = fresh ?? parting + said;
        if (text !== '') out.push({ ...event, text });
        return true;
      }
      if (event.type !== 'usage') phase = phase === 'again' ? 'on' : phase;
      out.push(event);
      return true;
    },
    () => {
      if (phase === 'anew') return saidNothingAgain;
      return { all: again.isComplete(), texts: [said], deltas };
    },
  );
}
