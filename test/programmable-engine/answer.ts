import type { Behaviour } from './behaviour.ts';
import { beginsWith, bulkText, bulkTokenLength, type TextSource, textFrom, textUpTo } from './bulk-text.ts';
import { seededChance, seedOf } from './chance.ts';
import type { ChatRequest } from './chat-request.ts';
import type { PartialAnswer } from './continuation.ts';
import { type Conversation, lastText } from './conversation.ts';
import { damaged } from './damaged-json.ts';
import { prose, quoteOf } from './prose.ts';
import { schemaInstance } from './schema-instance.ts';
import { stepOf } from './script.ts';
import { countTokens, offsetOfTokens } from './tokens.ts';
import { type ToolCall, toolCallsOf } from './tool-calls.ts';
import { writtenJson } from './written-json.ts';

/** One choice of the ideal answer: what is said, before any thought of how it is sent. */
export interface ChoiceAnswer {
  readonly reasoning: string;
  /** True when the reasoning goes on from a partial one, whose opening tag has been sent already. */
  readonly reasoningOpened: boolean;
  /** Repeats of the partial answer, which the engine does not count as its own output. */
  readonly echo: string;
  readonly content: TextSource;
  readonly refusal: string;
  readonly calls: readonly ToolCall[];
  readonly finishReason: string;
  readonly matchedStop: string | null;
}

/** The answer to choice `index`, whole or from where a partial answer left off. */
export function answerChoice(
  request: ChatRequest,
  conversation: Conversation,
  options: { readonly behaviour: Behaviour; readonly index: number; readonly partial: PartialAnswer | undefined },
): ChoiceAnswer {
  const { behaviour, partial } = options;
  const whole =
    partial === undefined
      ? wholeAnswer(request, conversation, { behaviour, index: options.index })
      : continuedAnswer(request, conversation, { behaviour, index: options.index, partial });
  const rest = partial === undefined ? whole : afterPartial(whole, partial, behaviour);
  return request.maxTokens === undefined ? rest : capped(rest, request.maxTokens);
}

/** Most choices that a partial answer is looked for in. */
const maxContinued = 8;

/** The whole answer that a partial one is the beginning of: a request to continue does not say which choice it goes on with. */
function continuedAnswer(
  request: ChatRequest,
  conversation: Conversation,
  options: { readonly behaviour: Behaviour; readonly index: number; readonly partial: PartialAnswer },
): ChoiceAnswer {
  const { behaviour, index, partial } = options;
  const first = wholeAnswer(request, conversation, { behaviour, index });
  let whole = first;
  for (let other = index + 1; other < maxContinued; other += 1) {
    if (beginsWith(whole.content, partial.content) && whole.reasoning.startsWith(partial.reasoning)) return whole;
    whole = wholeAnswer(request, conversation, { behaviour, index: other });
  }
  return first;
}

function wholeAnswer(
  request: ChatRequest,
  conversation: Conversation,
  options: { readonly behaviour: Behaviour; readonly index: number },
): ChoiceAnswer {
  const { behaviour } = options;
  const seed = seedOf(conversation.print, `choice ${options.index}`);
  const calls = toolCallsOf(request, conversation, behaviour);
  const refusing = behaviour.refusal !== undefined;
  const reasoning = request.reasoning.on ? reasoningText(request, conversation, { seed, behaviour }) : '';
  const step = stepOf(behaviour.script, conversation.messages);
  const said = refusing
    ? ''
    : step !== undefined
      ? step.say
      : calls.length > 0
        ? preamble(behaviour)
        : contentOf(request, conversation, { seed, behaviour, index: options.index });
  const { text, matchedStop } = stopped(said, request.stop);
  const apology = refusing ? 'I am sorry, but I cannot help with that.' : '';
  return {
    reasoning,
    reasoningOpened: false,
    echo: '',
    content: behaviour.refusal === 'content-filter' ? apology : text,
    refusal: behaviour.refusal === 'content-filter' ? '' : apology,
    calls: refusing || matchedStop !== null ? [] : calls,
    finishReason: finishOf({ behaviour, called: calls.length > 0 && matchedStop === null }),
    matchedStop,
  };
}

function finishOf(ending: { readonly behaviour: Behaviour; readonly called: boolean }): string {
  const { refusal } = ending.behaviour;
  if (refusal !== undefined) return refusal === 'field' ? 'stop' : 'content_filter';
  return ending.called ? 'tool_calls' : 'stop';
}

interface Making {
  readonly seed: number;
  readonly behaviour: Behaviour;
}

interface MakingChoice extends Making {
  readonly index: number;
}

function reasoningText(request: ChatRequest, conversation: Conversation, making: Making): string {
  const opening = `Let me think about "${quoteOf(lastText(conversation.messages, 'user'))}".`;
  const words = request.reasoning.words;
  const text = prose({ seed: making.seed + 1, opening, words, unicode: making.behaviour.unicode ?? false });
  const { budgetTokens } = request.reasoning;
  return budgetTokens === undefined ? text : text.slice(0, offsetOfTokens(text, budgetTokens));
}

const preamble = (behaviour: Behaviour): string =>
  behaviour.toolPreamble === true ? 'Let me look that up for you.' : '';

function contentOf(request: ChatRequest, conversation: Conversation, making: MakingChoice): TextSource {
  const { behaviour, seed } = making;
  const own = behaviour.contents?.[making.index % behaviour.contents.length];
  if (own !== undefined) return own;
  if (behaviour.content !== undefined) return behaviour.content;
  if (behaviour.bytes !== undefined) return bulkText(behaviour.bytes);
  const quote = quoteOf(lastText(conversation.messages, conversation.messages.at(-1)?.role ?? 'user'));
  if (request.responseFormat.kind !== 'text') {
    const schema = request.responseFormat.kind === 'json-schema' ? request.responseFormat.schema : anyObject;
    const instance = schemaInstance(schema, { chance: seededChance(seed), quote });
    return damaged(writtenJson(instance, behaviour), behaviour.jsonDefect);
  }
  const images = conversation.messages.at(-1)?.images ?? 0;
  const seen = images === 0 ? '' : ` With ${images} image${images === 1 ? '' : 's'}.`;
  // With a floor on tokens every word counts for at least one.
  const words = Math.max(behaviour.words ?? 24 + Math.floor(seededChance(seed)() * 36), request.minTokens);
  return prose({ seed, opening: `You said: "${quote}".${seen}`, words, unicode: behaviour.unicode ?? false });
}

const anyObject = {
  type: 'object',
  properties: {
    answer: { type: 'string' },
    level: { type: 'integer', minimum: 0, maximum: 9 },
    open: { type: 'boolean' },
  },
};

/** Everything before the earliest stop string; a bulk text is not searched. */
function stopped(text: TextSource, stops: readonly string[]): { text: TextSource; matchedStop: string | null } {
  let matchedStop: string | null = null;
  let end = text.length;
  if (typeof text !== 'string') return { text, matchedStop };
  for (const stop of stops) {
    const at = text.indexOf(stop);
    if (at >= 0 && at < end) [end, matchedStop] = [at, stop];
  }
  return { text: text.slice(0, end), matchedStop };
}

/** What is left to say. A partial answer that is not how the whole one begins is followed by the whole one. */
function afterPartial(whole: ChoiceAnswer, partial: PartialAnswer, behaviour: Behaviour): ChoiceAnswer {
  const knows = beginsWith(whole.content, partial.content);
  const content = knows ? textFrom(whole.content, partial.content.length) : whole.content;
  const reasoning = whole.reasoning.startsWith(partial.reasoning)
    ? whole.reasoning.slice(partial.reasoning.length)
    : whole.reasoning;
  const rest: ChoiceAnswer = {
    ...whole,
    content,
    reasoning: partial.reasoningOver ? '' : reasoning,
    reasoningOpened: !partial.reasoningOver && partial.reasoning !== '',
    echo: partial.echo ? partial.content : '',
  };
  return bentContinuation(rest, behaviour.continuationQuirk, { whole, partial });
}

function bentContinuation(
  rest: ChoiceAnswer,
  quirk: Behaviour['continuationQuirk'],
  from: { readonly whole: ChoiceAnswer; readonly partial: PartialAnswer },
): ChoiceAnswer {
  const { whole, partial } = from;
  const { content } = rest;
  switch (quirk) {
    case undefined:
      return rest;
    case 'overlap':
      return { ...rest, echo: lastWords(partial.content) };
    case 'restarts-reasoning':
      return { ...rest, reasoning: whole.reasoning, reasoningOpened: false };
    case 'restarts-text':
      return { ...rest, content: whole.content, echo: '' };
    case 'misfiled':
      return partial.reasoningOver ? { ...rest, reasoning: content.slice(0, content.length), content: '' } : rest;
  }
}

/** What a model that goes on may say again: three words or more, and not so little that it may be chance. */
const leastWords = 3;
const leastUnits = 12;

/** The last words of a text; none where these are too few. */
function lastWords(text: string): string {
  const words = text.match(/\S+\s*/gu) ?? [];
  for (let count = leastWords; count <= words.length; count += 1) {
    const last = words.slice(-count).join('');
    if (last.length >= leastUnits) return last;
  }
  return '';
}

/** Cuts after so many tokens of reasoning, text, refusal and calls, in that order. */
function capped(answer: ChoiceAnswer, maxTokens: number): ChoiceAnswer {
  const reasoningEnd = offsetOfTokens(answer.reasoning, maxTokens);
  let left = maxTokens - countTokens(answer.reasoning.slice(0, reasoningEnd));
  const contentTokens = tokensOf(answer.content);
  const content = contentTokens <= left ? answer.content : textUpTo(answer.content, endOfTokens(answer.content, left));
  left = Math.max(0, left - contentTokens);
  const refusal = answer.refusal.slice(0, offsetOfTokens(answer.refusal, left));
  left -= countTokens(refusal);
  const calls: ToolCall[] = [];
  for (const call of answer.calls) {
    const room = left - countTokens(call.name);
    if (room <= 0) break;
    const kept = call.arguments.slice(0, offsetOfTokens(call.arguments, room));
    calls.push({ ...call, arguments: kept });
    left = room - countTokens(kept);
  }
  const cut =
    reasoningEnd < answer.reasoning.length ||
    content.length < answer.content.length ||
    refusal.length < answer.refusal.length ||
    calls.length < answer.calls.length ||
    calls.some((call, index) => call.arguments.length < (answer.calls[index]?.arguments.length ?? 0));
  if (!cut) return answer;
  const reasoning = answer.reasoning.slice(0, reasoningEnd);
  return { ...answer, reasoning, content, refusal, calls, finishReason: 'length', matchedStop: null };
}

/** Tokens of a text; of a bulk text without reading it. */
export function tokensOf(text: TextSource): number {
  return typeof text === 'string' ? countTokens(text) : Math.ceil(text.length / bulkTokenLength);
}

function endOfTokens(text: TextSource, tokens: number): number {
  return typeof text === 'string' ? offsetOfTokens(text, tokens) : tokens * bulkTokenLength;
}
