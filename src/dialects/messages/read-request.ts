import type { ReadOptions } from '../../core/dialect.ts';
import { Failure } from '../../core/failure.ts';
import type { Request, ResponseFormat, Sampling, Tool, ToolChoice } from '../../core/request.ts';
import { describeIssue } from '../describe-issue.ts';
import { readModelId } from '../model-id.ts';
import { present } from '../present.ts';
import { readMessages } from './read-messages.ts';
import { readReasoning } from './read-reasoning.ts';
import { readTools } from './read-tools.ts';
import { type MessagesBody, messagesBody } from './schema.ts';
import { createUnsealing } from './unseal.ts';
import { isObject } from '../json.ts';

/**
 * Fields of this format that ask for something which no open model and no gateway of ours has: accepted and named in
 * `x-service-inert-params` (docs/reference/api.md §4.1). Any other unknown field is ignored without a word.
 */
const inertNames: ReadonlySet<string> = new Set([
  'service_tier',
  'container',
  'context_management',
  'mcp_servers',
  'inference_geo',
  'speed',
  'fallbacks',
  'fallback_credit_token',
  'billing_policy',
  'compaction',
  'diagnostics',
  'thread',
]);

/** Names of the inert fields that a body holds, in the order they stand there. */
function inertFields(body: unknown): readonly string[] {
  return isObject(body) ? Object.keys(body).filter((name) => inertNames.has(name)) : [];
}

function readToolChoice(body: MessagesBody, tools: readonly Tool[]): { readonly toolChoice?: ToolChoice } {
  const choice = body.tool_choice;
  if (choice === undefined || choice === null) return {};
  switch (choice.type) {
    case 'auto':
    case 'none':
      return tools.length === 0 ? {} : { toolChoice: choice.type };
    case 'any':
      if (tools.length === 0)
        throw new Failure('invalid_request', 'tool_choice: "any" needs at least one entry in tools');
      return { toolChoice: 'required' };
    case 'tool': {
      const { name } = choice;
      if (!tools.some((tool) => tool.name === name)) {
        throw new Failure('invalid_request', 'tool_choice.name: expected the name of one of the tools');
      }
      return { toolChoice: { name } };
    }
  }
}

/** A schema here is a promise, as `strict` is on the chat surface. */
function readResponseFormat(body: MessagesBody): { readonly responseFormat?: ResponseFormat } {
  const format = body.output_config?.format ?? body.output_format;
  if (format === undefined || format === null) return {};
  return { responseFormat: { type: 'json_schema', name: 'output', schema: format.schema, strict: true } };
}

function readSampling(body: MessagesBody): Sampling {
  const { temperature, top_p, top_k, stop_sequences: stop, tool_choice: choice } = body;
  const oneCall = choice !== undefined && choice !== null && 'disable_parallel_tool_use' in choice;
  const alone = oneCall && choice.disable_parallel_tool_use === true;
  return present({ temperature, top_p, top_k, stop, parallel_tool_calls: alone ? false : undefined });
}

/**
 * Reads a parsed messages body (docs/reference/api.md §4.3) into a request. Throws `invalid_request` with the path of the first
 * field at fault, or `variant_not_supported`, `web_search_name_reserved` and, where what searches found is sent back without `seal`,
 * `web_search_unavailable`. `metadata` is dropped: an end user's id goes nowhere.
 */
export function readRequest(value: unknown, { seal, keepsBillingLines = false }: ReadOptions = {}): Request {
  const parsed = messagesBody.safeParse(value);
  if (!parsed.success) throw new Failure('invalid_request', describeIssue(parsed.error));
  const body = parsed.data;
  const format = readResponseFormat(body);
  const citing = format.responseFormat === undefined ? 'marks' : 'none';
  const { tools, webSearch } = readTools(body, citing);
  const unsealing = createUnsealing(seal, citing);
  const messages = readMessages(body, { unsealing, keepsBillingLines });
  const sources = unsealing.sources();
  return {
    modelId: readModelId(body.model),
    messages,
    tools,
    ...present({ webSearch }),
    ...(sources.length === 0 ? {} : { sources }),
    ...readToolChoice(body, tools),
    ...format,
    maxOutputTokens: body.max_tokens,
    ...present({ reasoning: readReasoning(body) }),
    sampling: readSampling(body),
    stream: body.stream === true,
    // Every answer of this format has its usage.
    includeUsage: true,
    inert: inertFields(value),
  };
}
