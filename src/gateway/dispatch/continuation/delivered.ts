import { addToChoice, type AnswerChoice, newChoice } from '../../core/answer-choice.ts';
import { countRuns, type CountText } from '../../core/count-tokens.ts';
import { type AnswerEvent, deltasOf } from '../../../core/event.ts';

/** What was delivered of one choice. It is kept in memory until its request ends. */
export interface DeliveredChoice {
  readonly text: string;
  readonly reasoning: string;
  readonly refusal: string;
  readonly calls: readonly { readonly name: string; readonly arguments: string }[];
  /** How many deltas engines have sent for the choice. A delta is about one token. */
  readonly deltas: number;
  readonly finished: boolean;
}

export type Delivered = ReturnType<typeof keepDelivered>;

/** Most UTF-16 units that are kept. A longer answer fits no model's window. */
const maxKept = 8 * 1024 * 1024;

/** Keeps what is delivered, so that another route can continue it. */
export function keepDelivered() {
  const choices: (AnswerChoice & { deltas: number })[] = [];
  let size = 0;

  function take(event: AnswerEvent): void {
    if (event.type === 'usage') return;
    const choice = (choices[event.choice] ??= { ...newChoice(), deltas: 0 });
    choice.deltas += deltasOf(event);
    addToChoice(choice, event);
    if ('text' in event) size += event.text.length;
  }

  return {
    take: (events: readonly AnswerEvent[]): void => {
      if (size > maxKept) return;
      for (const event of events) take(event);
    },
    /** Returns what has been delivered of a choice until now. What is delivered later does not change it. */
    choice: (index: number): DeliveredChoice => {
      const { text, reasoning, refusal = '', calls, finish, deltas } = choices[index] ?? { ...newChoice(), deltas: 0 };
      const copied = calls.map(({ name, arguments: given }) => ({ name, arguments: given }));
      return { text, reasoning, refusal, calls: copied, deltas, finished: finish !== undefined };
    },
    /** False: the answer became too long to be kept, and cannot be continued. */
    isWhole: (): boolean => size <= maxKept,
  };
}

/**
 * Counts the tokens of each of these choices. `total`: the number that the engine reports for all choices together. If it is known,
 * the sizes add up to it.
 */
export async function choiceSizes(
  choices: readonly DeliveredChoice[],
  { countText, total }: { readonly countText: CountText | undefined; readonly total: number | undefined },
): Promise<readonly number[]> {
  if (choices.length === 1 && total !== undefined) return [total];
  const sizes = await Promise.all(choices.map((choice) => sizeOf(choice, countText)));
  const sum = sizes.reduce((all, size) => all + size, 0);
  if (total === undefined || sum === 0 || sum === total) return sizes;
  let before = 0;
  let given = 0;
  return sizes.map((size) => {
    before += size;
    const share = Math.round((before * total) / sum) - given;
    given += share;
    return share;
  });
}

/** Counts the tokens of one choice with the tokenizer. Without a tokenizer, each of the engine's deltas counts as a token. */
async function sizeOf(choice: DeliveredChoice, countText: CountText | undefined): Promise<number> {
  const { reasoning, text, refusal, calls, deltas } = choice;
  if (countText === undefined) return deltas;
  const runs = [reasoning, text, refusal, ...calls.flatMap((call) => [call.name, call.arguments])];
  const counted = await countRuns(
    runs.filter((run) => run !== ''),
    countText,
  );
  return counted ?? deltas;
}
