/** What callers get, as schemas for the description of the API. A test compares them with what the code writes. */
import { z } from 'zod';
import { keyStatuses } from '../../src/core/account.ts';
import { errorTypes, failures } from '../../src/core/failure.ts';

const count = z.int().min(0);
const cost = z.number().min(0).meta({ description: 'USD, an exact decimal.' });
const usd = z.string().meta({ description: 'USD, an exact decimal.' });

const shownCodes = Object.entries(failures).flatMap(([code, { shown }]) => (shown ? [code] : []));
const error = z.strictObject({
  message: z.string(),
  type: z.enum(errorTypes),
  code: z.enum(shownCodes).optional(),
});

const usage = z.strictObject({
  prompt_tokens: count,
  completion_tokens: count,
  total_tokens: count,
  prompt_tokens_details: z.strictObject({ cached_tokens: count }).optional(),
  completion_tokens_details: z.strictObject({ reasoning_tokens: count }).optional(),
  cost,
});

const toolCall = z.union([
  z.strictObject({
    id: z.string(),
    type: z.literal('function'),
    function: z.strictObject({ name: z.string(), arguments: z.string() }),
  }),
  z.strictObject({
    id: z.string(),
    type: z.literal('custom'),
    custom: z.strictObject({ name: z.string(), input: z.string() }),
  }),
]);
const logprobs = z.object({ content: z.array(z.unknown()).nullable(), refusal: z.array(z.unknown()).nullable() });
const reasoning = {
  reasoning_content: z.string().optional(),
  reasoning: z.string().optional(),
  reasoning_details: z.array(z.unknown()).optional(),
};
const functionCall = z.object({ name: z.string().optional(), arguments: z.string() });
const finishReason = z.enum(['stop', 'length', 'tool_calls', 'function_call', 'content_filter', 'error']);

const chatCompletion = z.strictObject({
  id: z.string(),
  object: z.literal('chat.completion'),
  created: count,
  model: z.string(),
  choices: z.array(
    z.strictObject({
      index: count,
      message: z.strictObject({
        role: z.literal('assistant'),
        content: z.string().nullable(),
        refusal: z.string().nullable(),
        ...reasoning,
        tool_calls: z.array(toolCall).optional(),
        function_call: functionCall.optional(),
      }),
      logprobs: logprobs.nullable(),
      finish_reason: finishReason,
    }),
  ),
  usage,
});

const chatChunk = z.strictObject({
  id: z.string(),
  object: z.literal('chat.completion.chunk'),
  created: count,
  model: z.string(),
  choices: z.array(
    z.strictObject({
      index: count,
      delta: z.strictObject({
        role: z.literal('assistant').optional(),
        content: z.string().nullish(),
        refusal: z.string().nullish(),
        ...reasoning,
        tool_calls: z.array(z.looseObject({ index: count })).optional(),
        function_call: functionCall.optional(),
      }),
      logprobs: logprobs.nullish(),
      finish_reason: finishReason.nullable(),
    }),
  ),
  usage: usage.nullish(),
  error: error.optional(),
});

const message = z.strictObject({
  id: z.string(),
  type: z.literal('message'),
  role: z.literal('assistant'),
  model: z.string(),
  content: z.array(z.looseObject({ type: z.string() })),
  stop_reason: z.enum(['end_turn', 'max_tokens', 'tool_use', 'refusal', 'stop_sequence']),
  stop_sequence: z.string().nullable(),
  usage: z.strictObject({
    input_tokens: count,
    cache_creation_input_tokens: count,
    cache_read_input_tokens: count,
    output_tokens: count,
    output_tokens_details: z.strictObject({ thinking_tokens: count }).optional(),
    server_tool_use: z.strictObject({ web_search_requests: count }).optional(),
    cost,
  }),
});

const response = z.looseObject({ id: z.string(), object: z.literal('response'), status: z.string() });

const embeddings = z.strictObject({
  object: z.literal('list'),
  id: z.string(),
  data: z.array(
    z.strictObject({
      object: z.literal('embedding'),
      index: count,
      embedding: z.union([z.array(z.number()), z.string()]),
    }),
  ),
  model: z.string(),
  usage: z.strictObject({ prompt_tokens: count, total_tokens: count, cost }),
});

const ranks = z.strictObject({
  id: z.string(),
  model: z.string(),
  results: z.array(
    z.strictObject({
      index: count,
      relevance_score: z.number(),
      document: z.looseObject({ text: z.string() }).optional(),
    }),
  ),
  usage: z.strictObject({ prompt_tokens: count, total_tokens: count, cost }),
  meta: z.strictObject({ tokens: z.strictObject({ input_tokens: count }) }),
});

const model = z.strictObject({
  id: z.string(),
  object: z.literal('model'),
  owned_by: z.string(),
  created: count,
  added: count,
  kind: z.enum(['embedding', 'rerank']).optional(),
  dimensions: count.optional(),
  shorter_dimensions: z.array(count).optional(),
  context_length: count,
  input_modalities: z.array(z.enum(['text', 'image'])),
  pricing: z.strictObject({ prompt: usd, completion: usd, input_cache_read: usd, web_search: usd.optional() }),
  performance: z.strictObject({ tps_p50: z.number(), ttft_p50_ms: z.number().optional(), as_of: count }).optional(),
});

const key = z.strictObject({
  object: z.literal('key'),
  id: z.string(),
  workspace: z.string(),
  name: z.string().nullable(),
  status: z.enum(keyStatuses),
  rate: z.number(),
  burst: z.number(),
  tokens_per_minute: count.nullable(),
  not_enforced: z.array(z.string()).nullable(),
  models: z.array(z.string()).nullable(),
  expires_at: z.string().nullable(),
  budget: z
    .strictObject({
      limit: usd,
      period: z.string(),
      spent: usd,
      remaining: usd,
      resets_at: z.string().nullable(),
    })
    .nullable(),
  balance: usd.nullable(),
});

/** By the names under which the description has them. */
export const answerSchemas = {
  ChatCompletion: chatCompletion,
  ChatCompletionChunk: chatChunk,
  Message: message,
  Response: response,
  Embeddings: embeddings,
  Ranks: ranks,
  Model: model,
  ModelList: z.strictObject({ object: z.literal('list'), data: z.array(model) }),
  Key: key,
  TokenCount: z.strictObject({ input_tokens: count }),
  Health: z.strictObject({ status: z.literal('ok') }),
  Error: z.strictObject({ error }),
  MessagesError: z.strictObject({ type: z.literal('error'), error }),
} as const satisfies Record<string, z.ZodType>;

export type AnswerName = keyof typeof answerSchemas;
