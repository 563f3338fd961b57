import { type AnswerEvent, deltasOf } from '../core/event.ts';

/** What has been delivered of one choice. In memory only, for as long as its request. */
export interface DeliveredChoice {
  readonly text: string;
  readonly reasoning: string;
  readonly refusal: string;
  readonly calls: readonly { readonly name: string; readonly arguments: string }[];
  /** The engines' own deltas in it: about one token each. */
  readonly deltas: number;
  readonly finished: boolean;
}

type Building = {
  -readonly [Field in keyof DeliveredChoice]: Field extends 'calls'
    ? { readonly name: string; arguments: string }[]
    : DeliveredChoice[Field];
};

export interface Delivered {
  readonly take: (events: readonly AnswerEvent[]) => void;
  readonly choice: (index: number) => DeliveredChoice;
  /** False when it became too long to be kept: it cannot be resumed. */
  readonly isWhole: () => boolean;
}

/** Most that is kept, UTF-16 units: more would fit no model's window. */
const maxKept = 8 * 1024 * 1024;

/** Keeps what is delivered, so that another route can go on with it. */
export function keepDelivered(): Delivered {
  const choices: Building[] = [];
  let size = 0;

  function choiceAt(index: number): Building {
    return (choices[index] ??= { text: '', reasoning: '', refusal: '', calls: [], deltas: 0, finished: false });
  }

  function take(event: AnswerEvent): void {
    if (event.type === 'usage') return;
    const choice = choiceAt(event.choice);
    choice.deltas += deltasOf(event);
    switch (event.type) {
      case 'tool-start':
        choice.calls[event.tool] = { name: event.name, arguments: '' };
        return;
      case 'finish':
        choice.finished = true;
        return;
      case 'tool-delta': {
        const call = choice.calls[event.tool];
        if (call !== undefined) call.arguments += event.text;
        break;
      }
      case 'text-delta':
        choice.text += event.text;
        break;
      case 'reasoning-delta':
        choice.reasoning += event.text;
        break;
      case 'refusal-delta':
        choice.refusal += event.text;
        break;
    }
    size += event.text.length;
  }

  return {
    take: (events) => {
      if (size > maxKept) return;
      for (const event of events) take(event);
    },
    choice: choiceAt,
    isWhole: () => size <= maxKept,
  };
}
