import { answerChoice, type ChoiceAnswer, tokensOf } from './answer.ts';
import type { Behaviour } from './behaviour.ts';
import type { ChatRequest } from './chat-request.ts';
import { partialAnswerOf } from './continuation.ts';
import { conversationOf, tokensByMessage } from './conversation.ts';
import type { PromptMemory } from './prompt-memory.ts';
import { RequestRefusal } from './request-refusal.ts';
import { countTokens } from './tokens.ts';

/** Everything to be said, and what it costs, ready to be sent in either transport. */
export interface PreparedAnswer {
  readonly id: string;
  readonly created: number;
  readonly model: string;
  readonly choices: readonly ChoiceAnswer[];
  readonly promptTokens: number;
  readonly cachedTokens: number;
}

/** Works out the answer. Throws a RequestRefusal when the request does not fit the context window or may not be continued. */
export function prepareAnswer(
  request: ChatRequest,
  engine: {
    readonly behaviour: Behaviour;
    readonly contextLength: number;
    readonly memory: PromptMemory;
    readonly idPrefix: string;
    readonly serial: number;
    readonly created: number;
  },
): PreparedAnswer {
  const { behaviour } = engine;
  const partial = partialAnswerOf(request, behaviour);
  const conversation = conversationOf(
    request,
    partial === undefined ? request.messages : request.messages.slice(0, -1),
  );
  const byMessage = tokensByMessage(request);
  // A continued message has no end mark yet, so the prompt is the first one and the partial answer, nothing more.
  const overhead = partial === undefined ? 3 + countTokens(request.toolsText) : countTokens(request.toolsText) - 1;
  const promptTokens = byMessage.reduce((sum, tokens) => sum + tokens, overhead);
  refuseOverlong(promptTokens, request.maxTokens, engine.contextLength);
  // An answer whose length was asked for is that long, whatever the window.
  const sized = behaviour.bytes ?? behaviour.words ?? behaviour.content ?? behaviour.contents;
  const room = request.maxTokens ?? (sized === undefined ? engine.contextLength - promptTokens : undefined);
  const fitting = { ...request, maxTokens: room };
  return {
    // Of one width, so that a fault at a byte of an answer strikes the next one in the same place.
    id: `${engine.idPrefix}${conversation.print.slice(0, 12)}-${String(engine.serial).padStart(8, '0')}`,
    created: engine.created,
    model: request.model,
    choices: Array.from({ length: request.choices }, (_, index) =>
      answerChoice(fitting, conversation, { behaviour, index, partial }),
    ),
    promptTokens,
    cachedTokens: Math.min(behaviour.cachedTokens ?? engine.memory.recall(request, byMessage), promptTokens),
  };
}

function refuseOverlong(prompt: number, maxTokens: number | undefined, limit: number): void {
  const wanted = prompt + (maxTokens ?? 1);
  if (wanted <= limit) return;
  throw new RequestRefusal(
    `This model's maximum context length is ${limit} tokens. However, you requested ${wanted} tokens ` +
      `(${prompt} in the messages, ${maxTokens ?? 1} in the completion). Please reduce the length of the messages or completion.`,
    { param: 'messages' },
  );
}

/** Output tokens of a choice: reasoning, text, refusal, and calls with their names. */
export function choiceTokens(choice: ChoiceAnswer): { readonly completion: number; readonly reasoning: number } {
  const reasoning = countTokens(choice.reasoning);
  const calls = choice.calls.reduce((sum, call) => sum + countTokens(call.name) + countTokens(call.arguments), 0);
  return { reasoning, completion: reasoning + tokensOf(choice.content) + countTokens(choice.refusal) + calls };
}
