import { picoUsd } from '../cost.ts';
import { faultOfTerminal, type Interrupted } from './interrupted-stream.ts';
import { faultOfRow, idOf, shown, type SweepAnswer } from './sweep-answer.ts';
import type { SweepReference } from './sweep-reference.ts';

/** Of an interrupted answer: what its caller has must be a beginning of the whole one. */
function faultOfPartial({ choices }: Interrupted, reference: SweepReference): string | undefined {
  for (const [index, { message }] of choices.entries()) {
    const whole = reference.choices[index]?.message;
    const pieces = [
      ...([
        ['content', message.content, whole?.content],
        ['reasoning', message.reasoning, whole?.reasoning],
      ] as const),
      ...(message.tool_calls ?? []).flatMap((call, at) => {
        const other = whole?.tool_calls?.[at];
        return [
          ['a name', call.function.name, other?.function.name] as const,
          ['arguments', call.function.arguments, other?.function.arguments] as const,
        ];
      }),
    ];
    for (const [what, is, should] of pieces) {
      if (!(should ?? '').startsWith(is ?? '')) return `${what} ${shown(is)} does not begin ${shown(should)}`;
    }
  }
  return undefined;
}

/**
 * What is wrong with a stream that no route could go on with (docs/reference/api.md §7.3). `tokensOf` counts what was delivered; the
 * row bills that and no prompt.
 */
export function faultOfInterrupted(
  { status, body, rows, surface }: SweepAnswer,
  reference: SweepReference,
  tokensOf: ((delivered: Interrupted) => number) | undefined,
): string | undefined {
  if (status !== 200) return `the status is ${status}`;
  try {
    const interrupted = surface.readInterrupted(body);
    return (
      faultOfTerminal(interrupted) ??
      faultOfPartial(interrupted, reference) ??
      faultOfRow(rows, {
        ...{ id: idOf(body), outcome: 'interrupted', prompt_tokens: 0 },
        ...(tokensOf === undefined ? {} : { completion_tokens: tokensOf(interrupted) }),
      })
    );
  } catch (error) {
    return String(error);
  }
}

/** What is wrong with the answer when all attempts failed before any output (docs/reference/api.md §7.1). */
export function faultOfFailed({ status, body, rows }: SweepAnswer): string | undefined {
  if (status !== 502) return `the status is ${status}`;
  const { error } = JSON.parse(body) as { readonly error?: Readonly<Record<string, unknown>> };
  const billed = rows.filter((row) => picoUsd(row['cost']) > 0n || Number(row['completion_tokens']) > 0);
  if (billed.length > 0) return `billed: ${shown(billed)}`;
  if (error?.['type'] !== 'service_error' || error['code'] !== undefined) return `the envelope is ${body}`;
  return typeof error['message'] === 'string' ? undefined : 'the envelope has no message';
}
