import type { ChoiceAnswer } from './answer.ts';
import type { Behaviour } from './behaviour.ts';
import type { TextSource } from './bulk-text.ts';
import type { ChatRequest } from './chat-request.ts';
import { finishReasonOf } from './choice-deltas.ts';
import { type EngineIdentity, engineFields } from './identity.ts';
import { inlineTagsOf } from './inline-tags.ts';
import { type JsonObject, parsedOr } from './json-value.ts';
import { logprobsOf } from './logprobs.ts';
import { choiceTokens, type PreparedAnswer } from './prepared-answer.ts';
import { reasoningFields } from './reasoning-delta.ts';
import type { ToolCall } from './tool-calls.ts';
import { usageBlock } from './usage.ts';

/** The answer as one JSON body, in pieces, so that a bulk text is never held whole. */
export function* completionMessage(
  answer: PreparedAnswer,
  request: ChatRequest,
  engine: { readonly behaviour: Behaviour; readonly identity: EngineIdentity },
): Generator<string> {
  const { behaviour } = engine;
  const bulks: TextSource[] = [];
  const counts = answer.choices.map(choiceTokens);
  const usage = usageBlock(
    {
      prompt: answer.promptTokens,
      cached: answer.cachedTokens,
      completion: counts.reduce((sum, count) => sum + count.completion, 0),
      reasoning: counts.reduce((sum, count) => sum + count.reasoning, 0),
    },
    behaviour.usage,
  );
  const insideChoice = behaviour.usageWhere === 'choice';
  const body = JSON.stringify({
    id: answer.id,
    object: 'chat.completion',
    created: answer.created,
    model: answer.model,
    ...engineFields(engine.identity, behaviour),
    choices: answer.choices.map((choice, index) => ({
      index,
      message: messageOf(choice, behaviour, bulks),
      logprobs: choiceLogprobs(choice, request),
      ...(behaviour.noFinish === true ? {} : { finish_reason: finishReasonOf(choice, behaviour) }),
      stop_reason: choice.matchedStop,
      ...(insideChoice && index === 0 ? { usage } : {}),
    })),
    ...(insideChoice ? {} : { usage }),
    ...(behaviour.usageWhere === 'x_groq' ? { x_groq: { id: answer.id, usage } } : {}),
  });
  const [head = '', ...tails] = body.split(JSON.stringify(bulkMark).slice(1, -1));
  yield head;
  for (const [index, tail] of tails.entries()) {
    const text = bulks[index] ?? '';
    // The bulk text is plain ASCII that JSON leaves as it is.
    for (let at = 0; at < text.length; at += 16_384) yield text.slice(at, at + 16_384);
    yield tail;
  }
}

/** Stands in for a bulk text until the body is written; no answer contains it. */
const bulkMark = '\u0000bulk\u0000';

function messageOf(choice: ChoiceAnswer, behaviour: Behaviour, bulks: TextSource[]): JsonObject {
  const text = typeof choice.content === 'string' ? choice.content : bulkMark;
  if (typeof choice.content !== 'string') bulks.push(choice.content);
  const reasons = choice.reasoning !== '' || choice.reasoningOpened;
  const tags = inlineTagsOf(behaviour.reasoningField);
  const thought =
    tags === undefined || !reasons ? '' : `${choice.reasoningOpened ? '' : tags.open}${choice.reasoning}${tags.close}`;
  const content = thought + choice.echo + text;
  return {
    role: 'assistant',
    ...(reasons && tags === undefined ? reasoningFields(choice.reasoning, behaviour.reasoningField) : {}),
    content: content === '' && (choice.calls.length > 0 || choice.refusal !== '') ? null : content,
    refusal: choice.refusal === '' ? null : choice.refusal,
    ...(choice.calls.length > 0
      ? { tool_calls: choice.calls.map((call) => messageCall(call, choice.calls, behaviour)) }
      : {}),
  };
}

/** A whole call can be bent only in its id, type and arguments; the other quirks concern streams. */
function messageCall(call: ToolCall, calls: readonly ToolCall[], behaviour: Behaviour): JsonObject {
  const quirks = behaviour.toolQuirk ?? [];
  const id = quirks.includes('ids-duplicate') ? calls[0]?.id : call.id;
  return {
    ...(quirks.includes('id-missing') ? {} : { id }),
    ...(quirks.includes('type-missing') ? {} : { type: 'function' }),
    function: {
      name: call.name,
      arguments: quirks.includes('arguments-object') ? parsedOr(call.arguments) : call.arguments,
    },
  };
}

function choiceLogprobs(choice: ChoiceAnswer, request: ChatRequest): JsonObject | null {
  if (request.logprobs === undefined || typeof choice.content !== 'string' || choice.content === '') return null;
  return { content: logprobsOf(choice.content, request.logprobs.top) };
}
