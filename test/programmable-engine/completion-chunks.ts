import type { Behaviour } from './behaviour.ts';
import type { ChatRequest } from './chat-request.ts';
import { type ChoiceDelta, choiceDeltas } from './choice-deltas.ts';
import { type EngineIdentity, engineFields } from './identity.ts';
import type { JsonObject } from './json-value.ts';
import { logprobsOf } from './logprobs.ts';
import type { PreparedAnswer } from './prepared-answer.ts';
import { usageBlock } from './usage.ts';

/** The answer as the JSON of its stream's events, in order, choices taking turns; without `[DONE]`. */
export function* completionChunks(
  answer: PreparedAnswer,
  request: ChatRequest,
  engine: { readonly behaviour: Behaviour; readonly identity: EngineIdentity },
): Generator<JsonObject> {
  const { behaviour } = engine;
  const where = behaviour.usageWhere ?? 'asked';
  const base = {
    id: answer.id,
    object: 'chat.completion.chunk',
    created: answer.created,
    model: answer.model,
    ...engineFields(engine.identity, behaviour),
  };
  const running = where === 'every-chunk' || request.continuousUsage;
  const ownChunk = request.includeUsage || where === 'own-chunk';
  const elsewhere = where === 'finish-chunk' || where === 'choice' || where === 'x_groq';
  let completion = 0;
  let reasoning = 0;
  let finished = 0;
  const usageNow = (): JsonObject | null | undefined =>
    usageBlock({ prompt: answer.promptTokens, cached: answer.cachedTokens, completion, reasoning }, behaviour.usage);

  for (const { index, step } of inTurns(answer, behaviour)) {
    completion += step.tokens;
    reasoning += step.reasoningTokens;
    if (step.finish !== undefined) finished += 1;
    const choice = {
      index,
      delta: step.delta,
      logprobs:
        request.logprobs === undefined || step.spoken === ''
          ? null
          : { content: logprobsOf(step.spoken, request.logprobs.top) },
      finish_reason: step.finish?.reason ?? null,
      ...(step.finish === undefined ? {} : { stop_reason: answer.choices[index]?.matchedStop ?? null }),
    };
    const chunk = { ...base, choices: [choice] };
    if (elsewhere && finished === answer.choices.length) yield closingChunk(chunk, where, usageNow());
    else if (running) yield withUsage(chunk, usageNow());
    else yield request.includeUsage && !elsewhere ? { ...chunk, usage: null } : chunk;
  }
  const usage = usageNow();
  if (ownChunk && !elsewhere && usage !== undefined) yield { ...base, choices: [], usage };
}

function withUsage(chunk: JsonObject, usage: JsonObject | null | undefined): JsonObject {
  return usage === undefined ? chunk : { ...chunk, usage };
}

/** The finish chunk of engines that put the usage there. */
function closingChunk(
  chunk: JsonObject & { readonly id: string; readonly choices: readonly JsonObject[] },
  where: 'finish-chunk' | 'choice' | 'x_groq',
  usage: JsonObject | null | undefined,
): JsonObject {
  switch (where) {
    case 'finish-chunk':
      return withUsage(chunk, usage);
    case 'choice':
      return { ...chunk, choices: chunk.choices.map((choice) => withUsage(choice, usage)) };
    case 'x_groq':
      return { ...withUsage(chunk, usage), x_groq: withUsage({ id: chunk.id }, usage) };
  }
}

function* inTurns(
  answer: PreparedAnswer,
  behaviour: Behaviour,
): Generator<{ readonly index: number; readonly step: ChoiceDelta }> {
  let open = answer.choices.map((choice, index) => ({ index, deltas: choiceDeltas(choice, behaviour) }));
  while (open.length > 0) {
    const still: typeof open = [];
    for (const { index, deltas } of open) {
      const next = deltas.next();
      if (next.done === true) continue;
      yield { index, step: next.value };
      still.push({ index, deltas });
    }
    open = still;
  }
}
