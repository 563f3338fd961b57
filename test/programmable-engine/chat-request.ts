import type { Behaviour } from './behaviour.ts';
import type { ChatMessage } from './chat-message.ts';
import { isJsonObject, type JsonObject, objectOr, stringOr } from './json-value.ts';
import { type ReasoningWish, readReasoningWish } from './reasoning-request.ts';
import { RequestRefusal } from './request-refusal.ts';
import { readToolChoice, readTools, type Tool, type ToolChoice } from './tool-request.ts';

/** A chat completion request, read as an engine reads it. */
export interface ChatRequest {
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  readonly stream: boolean;
  readonly includeUsage: boolean;
  readonly continuousUsage: boolean;
  readonly maxTokens: number | undefined;
  readonly minTokens: number;
  readonly choices: number;
  readonly stop: readonly string[];
  readonly seed: number | undefined;
  readonly tools: readonly Tool[];
  readonly toolsText: string;
  /** Prompts with different salts share no cache. Empty: none was sent. */
  readonly cacheSalt: string;
  readonly toolChoice: ToolChoice;
  readonly parallelCalls: boolean;
  readonly responseFormat: ResponseFormat;
  readonly logprobs: { readonly top: number } | undefined;
  readonly reasoning: ReasoningWish;
  readonly continueFinalMessage: boolean;
  readonly addGenerationPrompt: boolean;
}

export type ResponseFormat =
  | { readonly kind: 'text' }
  | { readonly kind: 'json-object' }
  | { readonly kind: 'json-schema'; readonly schema: unknown };

/** Reads the body as the behaviour says this engine would. Throws a RequestRefusal. */
export function readChatRequest(body: JsonObject, messages: readonly ChatMessage[], behaviour: Behaviour): ChatRequest {
  for (const field of behaviour.rejectFields ?? []) {
    if (body[field] !== undefined) {
      throw new RequestRefusal(`Unsupported parameter: '${field}' is not supported with this model.`, { param: field });
    }
  }
  const strict = behaviour.strict !== false;
  const streamOptions = objectOr(body['stream_options']);
  const stream = body['stream'] === true;
  if (strict && !stream && isJsonObject(body['stream_options'])) {
    throw new RequestRefusal('Stream options can only be defined when `stream=True`.', { param: 'stream_options' });
  }
  const tools = readTools(body['tools'], strict);
  const includeUsage = streamOptions['include_usage'] === true;
  return {
    model: stringOr(body['model'], ''),
    messages,
    stream,
    includeUsage,
    continuousUsage:
      includeUsage && streamOptions['continuous_usage_stats'] === true && behaviour.continuousUsage !== false,
    maxTokens: body['ignore_eos'] === true ? (readCap(body) ?? 1024) : readCap(body),
    minTokens:
      body['ignore_eos'] === true
        ? (readCap(body) ?? 1024)
        : (readInteger(body, 'min_tokens', { min: 0, max: cap }) ?? 0),
    choices: readInteger(body, 'n', { min: 1, max: 128 }) ?? 1,
    stop: readStop(body['stop']),
    seed: readInteger(body, 'seed', { min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER }),
    tools,
    toolsText: tools.length === 0 ? '' : JSON.stringify(body['tools']),
    cacheSalt: typeof body['cache_salt'] === 'string' ? body['cache_salt'] : '',
    toolChoice: readToolChoice(body['tool_choice'], { tools, strict }),
    parallelCalls: body['parallel_tool_calls'] !== false,
    responseFormat: readResponseFormat(body, strict),
    logprobs: readLogprobs(body, strict),
    reasoning: readReasoningWish(body, behaviour),
    continueFinalMessage: body['continue_final_message'] === true,
    addGenerationPrompt: body['add_generation_prompt'] === true,
  };
}

const cap = 2_000_000_000;

/** `max_completion_tokens` wins, as at OpenAI. */
function readCap(body: JsonObject): number | undefined {
  return (
    readInteger(body, 'max_completion_tokens', { min: 1, max: cap }) ??
    readInteger(body, 'max_tokens', { min: 1, max: cap })
  );
}

function readInteger(
  body: JsonObject,
  field: string,
  range: { readonly min: number; readonly max: number },
): number | undefined {
  const value = body[field];
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'number' && Number.isInteger(value) && value >= range.min && value <= range.max) return value;
  throw new RequestRefusal(`${field} must be an integer of at least ${range.min}, got ${JSON.stringify(value)}.`, {
    param: field,
  });
}

function readStop(value: unknown): readonly string[] {
  if (value === undefined || value === null) return [];
  const stops: readonly unknown[] = Array.isArray(value) ? value : [value];
  return stops.map((stop) => {
    if (typeof stop === 'string' && stop !== '') return stop;
    throw new RequestRefusal('stop must be a string or a list of strings', { param: 'stop' });
  });
}

function readLogprobs(body: JsonObject, strict: boolean): { readonly top: number } | undefined {
  const top = readInteger(body, 'top_logprobs', { min: 0, max: 20 });
  if (body['logprobs'] === true) return { top: top ?? 0 };
  if (strict && top !== undefined && top > 0) {
    throw new RequestRefusal('when using `top_logprobs`, `logprobs` must be set to true.', { param: 'top_logprobs' });
  }
  return undefined;
}

function readResponseFormat(body: JsonObject, strict: boolean): ResponseFormat {
  const format = objectOr(body['response_format']);
  switch (format['type']) {
    case 'json_object': {
      // llama.cpp takes a schema beside the type, and TGI a value.
      const schema = format['schema'] ?? format['value'];
      return isJsonObject(schema) ? { kind: 'json-schema', schema } : { kind: 'json-object' };
    }
    case 'json':
      return { kind: 'json-schema', schema: format['value'] };
    case 'json_schema': {
      // OpenAI and vLLM nest the schema twice, llama.cpp once; TGI calls it `value`.
      const schema = objectOr(format['json_schema'])['schema'] ?? format['schema'] ?? format['value'];
      if (strict && schema === undefined) {
        throw new RequestRefusal('response_format.json_schema must be given', { param: 'response_format' });
      }
      return { kind: 'json-schema', schema: schema ?? {} };
    }
    case undefined:
    case 'text':
      return { kind: 'text' };
    default:
      throw new RequestRefusal(`response_format.type ${JSON.stringify(format['type'])} is not known`, {
        param: 'response_format',
      });
  }
}
