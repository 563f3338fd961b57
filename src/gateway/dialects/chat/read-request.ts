import { Failure } from '../../../core/failure.ts';
import { isObject } from '../../../core/json.ts';
import { readModelName } from '../../core/model-name.ts';
import { type ParameterName, parameterNames, parameters, type Sampling } from '../../../core/parameters.ts';
import type { Content, Request, ResponseFormat, ToolCall } from '../../../core/request.ts';
import { contentOf, type Part, textPart } from '../content.ts';
import { customArguments } from '../custom-tools.ts';
import { samplingOf } from '../parameter-fields.ts';
import { placeResults } from '../place-results.ts';
import { inertFields, parseBody, present } from '../read-body.ts';
import { isSealedState } from '../sealed-state.ts';
import { refuseStored } from '../stored-state.ts';
import { describeUnreadable, type HistoryMessage, toolResult, withAlternative } from '../tool-result.ts';
import { readFormat } from '../wire-fields.ts';
import { readReasoning } from './read-reasoning.ts';
import { readTools } from './read-tools.ts';
import { type ChatBody, chatBody, type ChatMessage } from './schema.ts';

/**
 * Fields of other gateways that are accepted, have no effect and are listed to the caller (docs/reference/endpoints.md §4.1). Other
 * unknown fields are not listed.
 */
export const inertNames: ReadonlySet<string> = new Set([
  'provider',
  'models',
  'transforms',
  'route',
  'plugins',
  'usage',
  'preset',
  'prediction',
  'modalities',
  'audio',
  'store',
  'metadata',
  'service_tier',
  'prompt_cache_key',
  'prompt_cache_retention',
  'verbosity',
  'web_search_options',
]);

/**
 * Reads a parsed chat completions body (docs/reference/api.md §2.2, docs/reference/endpoints.md §4.1) into a request.
 * Throws `invalid_request` with the path of the first invalid field, `param_not_supported` for a field that needs something stored,
 * or `variant_not_supported`.
 */
export function readRequest(value: unknown): Request {
  refuseStored(value, 'chat');
  const body = parseBody(chatBody, value);
  return {
    modelName: readModelName(body.model),
    messages: placeResults(body.messages.map(readMessage)),
    ...readTools(body),
    responseFormat: readResponseFormat(body.response_format),
    maxOutputTokens: body.max_completion_tokens ?? body.max_tokens ?? undefined,
    reasoning: readReasoning(body),
    sampling: readSampling(body),
    stream: body.stream === true,
    includeUsage: body.stream_options?.include_usage === true,
    inert: inertFields(value, inertNames),
  };
}

type WireContent = NonNullable<ChatMessage['content']>;

type WirePart = Exclude<WireContent, string>[number];
type AnyContent = string | readonly WirePart[];

const partsOf = (content: AnyContent): readonly WirePart[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : content;

const readContent = (content: AnyContent): Content => contentOf(partsOf(content).map(readPart));

function readPart(part: WirePart): Part {
  switch (part.type) {
    case 'text':
      return part;
    case 'refusal':
      return textPart(part.refusal);
    case 'unreadable':
      return describeUnreadable(part);
    case 'file': {
      const { filename, file_data: text } = part.file;
      const head = filename === undefined || filename === null ? '' : `${filename}\n\n`;
      return textPart(head + text);
    }
    case 'image_url': {
      const image = typeof part.image_url === 'string' ? { url: part.image_url } : part.image_url;
      return { type: 'image', url: image.url, ...present({ detail: image.detail }) };
    }
  }
}

const readResult = (toolCallId: string, content: AnyContent) =>
  toolResult(
    toolCallId,
    partsOf(content).map((part) => withAlternative(readPart(part))),
  );

type WireCall = NonNullable<Extract<ChatMessage, { role: 'assistant' }>['tool_calls']>[number];

function readCall(call: WireCall): ToolCall {
  if (call.type !== 'custom') return { id: call.id, ...call.function };
  return { id: call.id, name: call.custom.name, arguments: customArguments(call.custom.input) };
}

/**
 * Makes the id of a call in the format's first version, which has no ids. Its calls come one at a time, and their results name the
 * function.
 */
const functionCallId = (name: string): string => `call_${name}`;

/** The sealed state that one of the answer's chunks carried. */
const stateOf = (details: readonly unknown[] | null | undefined): string | undefined =>
  details?.map((part) => (isObject(part) ? part['data'] : undefined)).findLast(isSealedState);

function readMessage(message: ChatMessage): HistoryMessage {
  switch (message.role) {
    case 'system':
    case 'developer':
      return { role: 'system', content: readContent(message.content), ...present({ name: message.name }) };
    case 'user':
      return { role: 'user', content: readContent(message.content), ...present({ name: message.name }) };
    case 'tool':
      return readResult(message.tool_call_id, message.content);
    case 'function':
      return { ...readResult(functionCallId(message.name), message.content ?? ''), tool: message.name };
    case 'assistant': {
      const { content, refusal, function_call: call } = message;
      // A refusal comes beside the content.
      const said = [...partsOf(content ?? []), ...(refusal ? [{ type: 'refusal' as const, refusal }] : [])];
      const first = call === undefined || call === null ? [] : [{ id: functionCallId(call.name), ...call }];
      const toolCalls = [...(message.tool_calls ?? []).map(readCall), ...first];
      return {
        role: 'assistant',
        content: said.length === 0 && !Array.isArray(content) ? undefined : readContent(said),
        name: message.name ?? undefined,
        reasoning: message.reasoning_content ?? message.reasoning ?? undefined,
        sealedState: stateOf(message.reasoning_details),
        toolCalls: toolCalls.length === 0 ? undefined : toolCalls,
      };
    }
  }
}

function readResponseFormat(format: ChatBody['response_format']): ResponseFormat | undefined {
  if (format === undefined || format === null) return undefined;
  if (format.type !== 'json_schema') return { type: format.type };
  return readFormat(format.json_schema);
}

function readSampling(body: ChatBody): Sampling {
  const sampling = samplingOf((name) => body[name]);
  const lacking = parameterNames.find((name) => sampling[name] !== undefined && lacksItsNeed(name, sampling));
  if (lacking !== undefined) {
    throw new Failure('invalid_request', `${lacking}: needs ${parameters[lacking].needs} to be true`);
  }
  return sampling;
}

const lacksItsNeed = (name: ParameterName, { logprobs }: Sampling): boolean =>
  parameters[name].needs === 'logprobs' && logprobs !== true;
