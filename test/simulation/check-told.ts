import type { ChatSurface } from '../../src/core/dialect.ts';
import type { Usage } from '../../src/core/money.ts';
import { type JsonObject, objectOr } from '../programmable-engine/json-value.ts';

type Counts = Pick<Usage, 'promptTokens' | 'completionTokens' | 'cachedTokens' | 'reasoningTokens'>;

const count = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);

/** The counts of a usage, as each surface has them. */
const readers: Readonly<Record<ChatSurface, (usage: JsonObject) => Counts>> = {
  chat: (usage) => ({
    promptTokens: Number(usage['prompt_tokens']),
    completionTokens: Number(usage['completion_tokens']),
    cachedTokens: count(objectOr(usage['prompt_tokens_details'])['cached_tokens']),
    reasoningTokens: count(objectOr(usage['completion_tokens_details'])['reasoning_tokens']),
  }),
  messages: (usage) => ({
    promptTokens: Number(usage['input_tokens']) + Number(usage['cache_read_input_tokens']),
    completionTokens: Number(usage['output_tokens']),
    cachedTokens: count(usage['cache_read_input_tokens']),
    reasoningTokens: count(objectOr(usage['output_tokens_details'])['thinking_tokens']),
  }),
  responses: (usage) => ({
    promptTokens: Number(usage['input_tokens']),
    completionTokens: Number(usage['output_tokens']),
    cachedTokens: count(objectOr(usage['input_tokens_details'])['cached_tokens']),
    reasoningTokens: count(objectOr(usage['output_tokens_details'])['reasoning_tokens']),
  }),
};

/** Where the usage that a caller was told differs from the one that was billed. A count that an engine did not report may be told as 0. */
export function toldFaults(surface: ChatSurface, usage: JsonObject, billed: Counts): readonly string[] {
  const told = readers[surface](usage);
  return (['promptTokens', 'completionTokens', 'cachedTokens', 'reasoningTokens'] as const).flatMap((name) =>
    (told[name] ?? 0) === (billed[name] ?? 0) ? [] : [`told ${told[name]} ${name}, billed ${billed[name]}`],
  );
}
