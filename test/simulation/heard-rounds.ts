import type { ChoiceAnswer } from '../programmable-engine/answer.ts';
import { type Behaviour, parseBehaviour } from '../programmable-engine/behaviour.ts';
import { type ChatMessage, readMessages } from '../programmable-engine/chat-message.ts';
import { readChatRequest } from '../programmable-engine/chat-request.ts';
import type { JsonObject } from '../programmable-engine/json-value.ts';
import { choiceTokens, prepareAnswer } from '../programmable-engine/prepared-answer.ts';
import { createPromptMemory } from '../programmable-engine/prompt-memory.ts';

/**
 * One call of the model within an answer with web search, and what every engine says to it. The prompt of a later call has ids
 * and results that only the service knows, so it is taken from what has reached an engine.
 */
export interface HeardRound {
  readonly said: ChoiceAnswer;
  readonly completionTokens: number;
  /** One, or one for each format of an engine. */
  readonly promptTokens: ReadonlySet<number>;
  /** The messages after the caller's own: what the model said in earlier rounds, and what was found. */
  readonly turns: readonly ChatMessage[];
  /** The messages up to the caller's last one. */
  readonly history: readonly ChatMessage[];
}

/** The rounds of each request, by its number. */
export interface RoundLog {
  readonly hear: (body: JsonObject) => void;
  readonly of: (request: number) => readonly HeardRound[];
}

/** The round that a prompt asks for: the model's earlier turns in this answer. Undefined: it asks to continue a broken answer. */
export function roundOf(messages: readonly ChatMessage[]): number | undefined {
  const asked = messages.findLastIndex(({ role }) => role === 'user');
  const turns = messages.slice(asked + 1);
  const last = turns.at(-1);
  if (last?.role === 'assistant' && last.calls === '') return undefined;
  return turns.filter(({ role }) => role === 'assistant').length;
}

/** `mannersOf`: how every engine behaves towards a prompt. */
export function createRoundLog(mannersOf: (messages: readonly ChatMessage[]) => Behaviour): RoundLog {
  const heard = new Map<number, HeardRound[]>();
  return {
    of: (request) => heard.get(request) ?? [],
    hear: (body) => {
      const messages = readMessages(body['messages']);
      const asked = messages.findLastIndex(({ role }) => role === 'user');
      const number = Number(/and request (\d+):/.exec(messages[asked]?.text ?? '')?.[1]);
      const round = roundOf(messages);
      const behaviour = mannersOf(messages);
      if (behaviour.script === undefined || round === undefined) return;
      const rounds = heard.get(number) ?? [];
      heard.set(number, rounds);
      const { choices, promptTokens } = prepareAnswer(readChatRequest(body, messages, behaviour), {
        ...{ behaviour, contextLength: 8192, memory: createPromptMemory(), idPrefix: '', serial: 0, created: 0 },
      });
      const [said] = choices;
      if (said === undefined) return;
      rounds[round] = {
        said,
        completionTokens: choiceTokens(said).completion,
        promptTokens: new Set([...(rounds[round]?.promptTokens ?? []), promptTokens]),
        turns: messages.slice(asked + 1),
        history: messages.slice(0, asked),
      };
    },
  };
}

/** How every engine answers a request. What else its directive has is for the engine that `on` names. */
export const manners = [
  ...(['words', 'content', 'contents', 'unicode', 'refusal', 'jsonSpaces', 'script'] as const),
  ...(['reasoningWords', 'reasoning', 'reasoningField', 'reasoningChunks'] as const),
  ...(['callTools', 'toolPreamble', 'toolQuirk'] as const),
  ...(['deltaTokens', 'deltaChars', 'tokenDelayMs', 'eventsPerWrite'] as const),
  ...(['usage', 'usageWhere', 'continuousUsage', 'continuation', 'continuationQuirk'] as const),
] as const;

export const mannersIn = (asked: JsonObject): Behaviour =>
  parseBehaviour(Object.fromEntries(manners.flatMap((name) => (name in asked ? [[name, asked[name]]] : []))));
