import * as z from 'zod';
import { tokensOf } from './tokens.ts';

const maxChoices = 8;

const message = z.object({
  role: z.string(),
  content: z.union([z.string(), z.array(z.object({ text: z.string().optional() }))]).nullish(),
});
const cap = z.int().min(1).nullish();

const body = z.object({
  model: z.string(),
  messages: z.array(message).min(1),
  stream: z.boolean().nullish(),
  stream_options: z
    .object({ include_usage: z.boolean().nullish(), continuous_usage_stats: z.boolean().nullish() })
    .nullish(),
  max_tokens: cap,
  max_completion_tokens: cap,
  n: z.int().min(1).max(maxChoices).nullish(),
  stop: z.union([z.string(), z.array(z.string())]).nullish(),
  response_format: z
    .object({ type: z.string(), json_schema: z.object({ schema: z.unknown().optional() }).optional() })
    .nullish(),
  chat_template_kwargs: z.object({ enable_thinking: z.boolean().optional() }).nullish(),
});

/** A chat completion request, as far as this engine reads it. */
export interface ChatRequest {
  readonly model: string;
  readonly promptTokens: number;
  readonly question: string;
  /** The beginning of the answer, where the conversation ends with it. */
  readonly partial: string;
  readonly reasons: boolean;
  /** Set where the answer is to be JSON. */
  readonly schema: unknown;
  readonly choices: number;
  readonly maxTokens: number;
  readonly stops: readonly string[];
  readonly stream: boolean;
  readonly usage: 'none' | 'at-the-end' | 'in-every-event';
}

/** Reads a request's body. A string is the sentence that says why it is refused. */
export function readChatRequest(raw: unknown): ChatRequest | string {
  const { data, error } = body.safeParse(raw);
  if (data === undefined) return z.prettifyError(error);
  const messages = data.messages.map(({ role, content }) => ({ role, text: textOf(content) }));
  const last = messages.at(-1);
  return {
    model: data.model,
    promptTokens: messages.reduce((sum, { text }) => sum + tokensOf(text).length, 0),
    question: messages.findLast(({ role }) => role === 'user')?.text ?? '',
    partial: last?.role === 'assistant' ? last.text : '',
    reasons: data.chat_template_kwargs?.enable_thinking === true,
    schema: schemaOf(data.response_format?.type, data.response_format?.json_schema?.schema),
    choices: data.n ?? 1,
    maxTokens: data.max_completion_tokens ?? data.max_tokens ?? Infinity,
    stops: [data.stop ?? []].flat().filter((stop) => stop !== ''),
    stream: data.stream === true,
    usage: usageOf(data.stream_options ?? {}),
  };
}

function textOf(content: z.infer<typeof message>['content']): string {
  if (typeof content === 'string') return content;
  return (content ?? []).map(({ text = '' }) => text).join('');
}

function schemaOf(format: string | undefined, schema: unknown): unknown {
  if (format === 'json_object') return { type: 'object' };
  return format === 'json_schema' ? schema : undefined;
}

function usageOf(options: NonNullable<z.infer<typeof body>['stream_options']>): ChatRequest['usage'] {
  if (options.include_usage !== true) return 'none';
  return options.continuous_usage_stats === true ? 'in-every-event' : 'at-the-end';
}
