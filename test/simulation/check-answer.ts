import type { ChatSurface } from '../../src/core/dialect.ts';
import type { ChoiceAnswer } from '../programmable-engine/answer.ts';
import { isJsonObject, parsedOr } from '../programmable-engine/json-value.ts';
import type { RequestEvent } from './events.ts';
import type { ReceivedChoice } from './received-choice.ts';

interface Judged {
  readonly event: Pick<RequestEvent, 'surface' | 'stream' | 'search' | 'maxTokens'>;
  readonly isWhole: boolean;
}

/** How a received choice differs from the expected one. Undefined: not at all. A choice that is not whole is a beginning of it. */
export function differenceOf(
  choice: ReceivedChoice,
  expected: ChoiceAnswer | undefined,
  { event, isWhole }: Judged,
): string | undefined {
  if (expected === undefined) return 'was not asked for';
  const text = expected.content as unknown as string;
  const pairs: readonly (readonly [string, string, string])[] = [
    ['text', choice.text, text],
    ['reasoning', choice.reasoning, expected.reasoning],
    ['refusal', choice.refusal, event.surface === 'chat' ? expected.refusal : ''],
  ];
  for (const [name, got, wanted] of pairs) {
    if (isWhole ? got !== wanted : !wanted.startsWith(got)) {
      let at = 0;
      while (at < wanted.length && got[at] === wanted[at]) at += 1;
      return `the ${name} differs at ${at}: ${JSON.stringify(got.slice(Math.max(0, at - 20), at + 30))} in place of ${JSON.stringify(wanted.slice(Math.max(0, at - 20), at + 30))}`;
    }
  }
  for (const [index, { arguments: got }] of choice.calls) {
    const { arguments: wanted } = expected.calls[index] ?? { arguments: undefined };
    if (wanted === undefined) return `call ${index} was not asked for`;
    const isSame = isWhole
      ? compact(got) === compact(wholeArguments(wanted, event))
      : compact(got) === compact(wanted) || wanted.startsWith(got);
    if (!isSame) return `call ${index} has ${got.slice(0, 80)} in place of ${wanted.slice(0, 80)}`;
  }
  if (isWhole && choice.calls.size !== expected.calls.length) return `${choice.calls.size} calls`;
  // The cap of all calls of the model together may end it after a search.
  if (event.search !== undefined && event.maxTokens !== undefined) return undefined;
  const finish = finishes[event.surface](expected.refusal === '' ? expected.finishReason : 'content_filter');
  return !isWhole || choice.finish === finish ? undefined : `finishes with ${choice.finish} in place of ${finish}`;
}

/**
 * Whether a choice is the first one. After a break, a choice of which nothing characteristic was delivered is continued as a request
 * for one choice. What is left of its cap may end it.
 */
export function isContinuedAlone(choice: ReceivedChoice, first: ChoiceAnswer | undefined, how: Judged): boolean {
  if (first === undefined) return false;
  const capped = how.event.maxTokens === undefined ? [] : [{ ...first, finishReason: 'length' as const }];
  return [first, ...capped].some((one) => differenceOf(choice, one, how) === undefined);
}

/** How each surface says why an answer ends that has ended for this reason at its engine. */
const finishes: Readonly<Record<ChatSurface, (reason: string) => string>> = {
  chat: (reason) => reason,
  messages: (reason) => (reason === 'stop' ? 'end_turn' : reason === 'length' ? 'max_tokens' : 'tool_use'),
  responses: (reason) => (reason === 'length' ? 'max_output_tokens' : 'completed'),
};

/**
 * The arguments of a call in a whole answer. The caller's cap may have cut them. Chat and responses pass on what is left.
 * Messages passes it on in a stream, and has an empty object in its place in an answer in one piece.
 */
function wholeArguments(wanted: string, { surface, stream }: Pick<RequestEvent, 'surface' | 'stream'>): string {
  if (surface !== 'messages' || isJsonObject(parsedOr(wanted))) return wanted;
  return stream && wanted !== '' ? wanted : '{}';
}

function compact(json: string): string {
  const value = parsedOr(json);
  return isJsonObject(value) ? JSON.stringify(value) : json;
}
