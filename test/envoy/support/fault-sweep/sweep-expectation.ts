import { type PutTogether, putTogether } from '../put-together.ts';
import { differs, faultOfRow, idOf, shown, type SweepAnswer } from './sweep-answer.ts';
import { numberIds } from './number-ids.ts';
import type { SweepReference } from './sweep-reference.ts';

/** How exactly tokens can be known: `reconciled` where nobody counts what a broken attempt delivered. */
export type Counting = 'exact' | 'reconciled';

function faultOfUsage(usage: PutTogether['usage'], reference: SweepReference, counting: Counting): string | undefined {
  const { prompt_tokens: prompt, completion_tokens: completion, total_tokens: total } = usage;
  if (Number(prompt) + Number(completion) !== total) return `the tokens do not add up: ${shown(usage)}`;
  if (counting === 'reconciled') return undefined;
  return (
    differs('prompt_tokens', prompt, reference.usage['prompt_tokens']) ??
    differs('completion_tokens', completion, reference.usage['completion_tokens'])
  );
}

/** A message with what its JSON says in place of how it is written. */
function parsed({ content, tool_calls: calls, ...message }: PutTogether['choices'][number]['message']): unknown {
  return {
    ...message,
    content: content === null ? null : (JSON.parse(content) as unknown),
    calls: calls?.map((call) => [call.id, call.function.name, JSON.parse(call.function.arguments) as unknown]),
  };
}

/**
 * A choice of which nothing was delivered, or too little to tell it from another, may be answered with any of them: a request for one
 * more choice does not say which is meant.
 */
function faultOfChoices(
  choices: PutTogether['choices'],
  reference: SweepReference,
  interchangeable: boolean,
): string | undefined {
  if (choices.length !== reference.choices.length) return `${choices.length} choices`;
  const { looseJson = false } = reference.shape;
  const bare = ({ message, finish_reason, logprobs }: PutTogether['choices'][number]): unknown =>
    numberIds({ message: looseJson ? parsed(message) : message, finish_reason, logprobs });
  const known = reference.choices.map(bare);
  for (const [index, choice] of choices.entries()) {
    const is = bare(choice);
    const allowed = interchangeable ? known : known.slice(index, index + 1);
    if (!allowed.some((one) => shown(one) === shown(is))) return differs(`choice ${index}`, is, known[index]);
  }
  return undefined;
}

/** What is wrong with an answer that should look as if nothing had happened; undefined when nothing is. */
export function faultOfWhole(
  { status, body, rows }: SweepAnswer,
  reference: SweepReference,
  {
    counting = 'exact',
    interchangeable = false,
  }: { readonly counting?: Counting; readonly interchangeable?: boolean } = {},
): string | undefined {
  if (status !== 200) return `the status is ${status}: ${body.slice(0, 300)}`;
  if (body.includes('"code":"stream_interrupted"')) return 'it was interrupted';
  try {
    const { choices, usage, model } = putTogether(body);
    return (
      (model.startsWith(`test/${reference.shape.name}-`) ? undefined : `the model is ${model}`) ??
      faultOfChoices(choices, reference, interchangeable) ??
      faultOfUsage(usage, reference, counting) ??
      faultOfRow(rows, {
        ...{ id: idOf(body), outcome: 'completed' },
        ...{ prompt_tokens: usage['prompt_tokens'], completion_tokens: usage['completion_tokens'] },
      }) ??
      differs('the cost', usage['cost'], Number(rows[0]?.['cost']))
    );
  } catch (error) {
    return String(error);
  }
}
