import type { FinishReason, RelayedEvent, UsageEvent } from '../../core/event.ts';

/** The parts of one choice of an answer, as far as they have arrived. */
export interface AnswerChoice {
  text: string;
  reasoning: string;
  /** Undefined: the model has not refused. */
  refusal: string | undefined;
  /** By their number. */
  readonly calls: { readonly id: string; readonly name: string; arguments: string }[];
  /** Undefined: it has not ended. */
  finish: FinishReason | undefined;
  sealedState: string | undefined;
}

export const newChoice = (): AnswerChoice => ({
  text: '',
  reasoning: '',
  refusal: undefined,
  calls: [],
  finish: undefined,
  sealedState: undefined,
});

/** Adds an event of the choice. Token probabilities and searches are left out. */
export function addToChoice(choice: AnswerChoice, event: Exclude<RelayedEvent, UsageEvent>): void {
  switch (event.type) {
    case 'text-delta':
      choice.text += event.text;
      return;
    case 'reasoning-delta':
      choice.reasoning += event.text;
      return;
    case 'refusal-delta':
      choice.refusal = (choice.refusal ?? '') + event.text;
      return;
    case 'tool-start':
      choice.calls[event.tool] = { id: event.id, name: event.name, arguments: '' };
      return;
    case 'tool-delta': {
      const call = choice.calls[event.tool];
      if (call !== undefined) call.arguments += event.text;
      return;
    }
    case 'finish':
      choice.finish = event.reason;
      choice.sealedState = event.sealedState;
      return;
    case 'search-call':
    case 'search-result':
    // Answers of other tasks.
    case 'vectors':
    case 'ranks':
      return;
  }
}
