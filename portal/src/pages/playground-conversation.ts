import { type ChatAnswer, emptyAnswer } from '../data/chat.ts';
import type { PastTurn, Question } from '../data/chat-request.ts';

/** The answer of one model. */
export interface AnswerState {
  readonly model: string;
  /** The id under which the request was sent last. */
  readonly requestId: string;
  readonly answer: ChatAnswer;
  /** How the answer ended. After an error, the rest of the answer is missing. */
  readonly end: 'under-way' | 'complete' | 'stopped' | Error;
}

/** A question, and its answers in the order of the chosen models. */
export interface TurnState {
  readonly question: Question;
  readonly answers: readonly AnswerState[];
}

export type Conversation = readonly TurnState[];

type Asked = Pick<AnswerState, 'model' | 'requestId'>;

const begun = (asked: Asked): AnswerState => ({ ...asked, answer: emptyAnswer, end: 'under-way' });

/** `at`: the place of the model among the chosen ones. */
export type Step =
  | { readonly kind: 'ask'; readonly question: Question; readonly asked: readonly Asked[] }
  /** Asks the last question once more. */
  | { readonly kind: 'retry'; readonly at: number; readonly requestId: string }
  | { readonly kind: 'grow'; readonly at: number; readonly answer: ChatAnswer }
  | { readonly kind: 'end'; readonly at: number; readonly end: Exclude<AnswerState['end'], 'under-way'> }
  | { readonly kind: 'clear' };

export function afterStep(turns: Conversation, step: Step): Conversation {
  switch (step.kind) {
    case 'ask':
      return [...turns, { question: step.question, answers: step.asked.map(begun) }];
    case 'retry':
      return withAnswer(turns, step.at, ({ model }) => begun({ model, requestId: step.requestId }));
    case 'grow':
      return withAnswer(turns, step.at, (before) => ({ ...before, answer: step.answer }));
    case 'end':
      return withAnswer(turns, step.at, (before) => ({ ...before, end: step.end }));
    case 'clear':
      return [];
  }
}

/** Changes an answer of the last turn. */
function withAnswer(turns: Conversation, at: number, change: (before: AnswerState) => AnswerState): Conversation {
  const last = turns.at(-1);
  if (last === undefined) throw new Error('a conversation without turns has no answer to change');
  return turns.with(-1, {
    ...last,
    answers: last.answers.map((answer, index) => (index === at ? change(answer) : answer)),
  });
}

export const isUnderWay = (turns: Conversation): boolean =>
  turns.at(-1)?.answers.some(({ end }) => end === 'under-way') ?? false;

/** Whether a model waits for the results of its calls. */
export const hasCalls = (turns: Conversation): boolean =>
  turns.at(-1)?.answers.some(({ answer, end }) => end === 'complete' && answer.calls.length > 0) ?? false;

/**
 * The conversation with the model at a place. It reads its own answers. A model that was chosen later reads those of
 * the first one. Calls that did not arrive whole are left out.
 */
export function pastOf(turns: Conversation, at: number): readonly PastTurn[] {
  return turns.map(({ question, answers }) => {
    const { answer, end } = answers[at] ?? answers[0] ?? { answer: emptyAnswer, end: 'stopped' };
    return { question, text: answer.text, calls: end === 'complete' ? answer.calls : [] };
  });
}
