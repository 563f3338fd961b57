import type { AnswerEvent } from '../../core/event.ts';
import type { DeliveredChoice } from './delivered.ts';
import type { Seam } from './merge-text.ts';
import { watchJson, watchText } from './repeated-text.ts';

/** What a new attempt has said that had been delivered before, and was not delivered again. Its engine counts it. */
export interface SaidAgain {
  /** Whether that is everything that had been delivered of the choice. */
  readonly all: boolean;
  readonly texts: readonly string[];
  /** Its engine's own deltas in them. */
  readonly deltas: number;
}

export const saidNothingAgain: SaidAgain = { all: false, texts: [], deltas: 0 };

/**
 * Joins the answer of a new attempt to what has been delivered of a choice: a synchronous machine that hands on what is new.
 * The events name the choice as the engine does.
 */
export interface Join {
  /** What is to be delivered; undefined when the new answer does not go on where the other broke off. */
  readonly push: (events: readonly AnswerEvent[]) => readonly AnswerEvent[] | undefined;
  readonly saidAgain: () => SaidAgain;
}

/** For a choice of which nothing had been delivered. */
export const joinNothing: Join = { push: (events) => events, saidAgain: () => saidNothingAgain };

/** Makes a join out of a step for one event: it adds what is to be delivered, and is false on a contradiction. */
export function joinEach(step: (event: AnswerEvent, out: AnswerEvent[]) => boolean, saidAgain: () => SaidAgain): Join {
  return {
    push: (events) => {
      const out: AnswerEvent[] = [];
      for (const event of events) if (!step(event, out)) return undefined;
      return out;
    },
    saidAgain,
  };
}

/**
 * Joins an answer asked for anew after tool calls, or a refusal, had begun: a call cannot be continued. It must make the same
 * calls, by name and by the beginning of their arguments; what it says before them has been said. A refusal must begin with the
 * same words.
 */
export function replayCalls(delivered: DeliveredChoice): Join {
  const calls = delivered.calls.map(({ name, arguments: text }) => ({
    name,
    isBegun: false,
    arguments: watchJson(text),
  }));
  const refusal = watchText(delivered.refusal);

  /** Whether everything delivered has come again: from here on, all is new. */
  const isCaughtUp = (): boolean =>
    refusal.isComplete() && calls.every((call) => call.isBegun && call.arguments.isComplete());

  function step(event: AnswerEvent, out: AnswerEvent[]): boolean {
    switch (event.type) {
      case 'usage':
        break;
      case 'reasoning-delta':
      case 'text-delta':
        if (!isCaughtUp()) return true;
        break;
      case 'refusal-delta':
      case 'tool-delta': {
        const before = event.type === 'tool-delta' ? calls[event.tool]?.arguments : refusal;
        const text = before === undefined ? event.text : before.push(event.text);
        if (text === undefined) return false;
        if (text !== '') out.push(text === event.text ? event : { ...event, text });
        return true;
      }
      case 'tool-start': {
        const call = calls[event.tool];
        if (call !== undefined) {
          call.isBegun = true;
          return call.name === event.name;
        }
        if (!isCaughtUp()) return false;
        break;
      }
      case 'finish':
        if (!isCaughtUp()) return false;
        break;
    }
    out.push(event);
    return true;
  }

  return joinEach(step, () => ({ all: true, texts: [], deltas: 0 }));
}

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
