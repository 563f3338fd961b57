import { countRuns } from '../core/count-tokens.ts';
import type { DeliveredChoice } from './delivered.ts';
import type { CountText } from './token-totals.ts';

/** Tokens of a choice by itself: the tokenizer's, else one for each of the engine's deltas. */
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

/**
 * Tokens of each of these choices. `total`: what they have together, where that is known; then the sizes add up to it, for
 * an engine tells one number for all of its choices.
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
