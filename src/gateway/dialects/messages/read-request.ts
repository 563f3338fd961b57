import type { ReadOptions } from '../../../core/dialect.ts';
import { readModelName } from '../../core/model-name.ts';
import { type ParameterName, parameters, type Sampling } from '../../../core/parameters.ts';
import type { Request, ResponseFormat } from '../../../core/request.ts';
import { type PartName, samplingOf } from '../parameter-fields.ts';
import { inertFields, parseBody } from '../read-body.ts';
import { refuseStored } from '../stored-state.ts';
import { readMessages } from './read-messages.ts';
import { readReasoning } from './read-reasoning.ts';
import { readToolChoice, readTools } from './read-tools.ts';
import { countBody, type MessagesBody, messagesBody } from './schema.ts';
import { createSearchReader } from './search-blocks.ts';

/**
 * Fields of this format that are accepted, have no effect and are listed to the caller (docs/reference/endpoints.md §4.1). Other unknown
 * fields are not listed.
 */
const inertNames: ReadonlySet<string> = new Set([
  'service_tier',
  'context_management',
  'inference_geo',
  'speed',
  'fallbacks',
  'fallback_credit_token',
  'billing_policy',
  'compaction',
  'diagnostics',
  'thread',
]);

/**
 * Reads a parsed messages body (docs/reference/endpoints.md §4.3) into a request. `metadata` is dropped, since it holds an end user's id.
 * Throws `invalid_request` with the path of the first invalid field, `param_not_supported` for a field that needs something stored,
 * `variant_not_supported`, `web_search_name_reserved`, or
 * `web_search_unavailable` for search results without a `seal` that could open them.
 */
export function readRequest(
  value: unknown,
  { seal, keepsBillingLines = false, isCount = false }: ReadOptions = {},
): Request {
  refuseStored(value, 'messages');
  const body = parseBody(isCount ? countBody : messagesBody, value);
  const responseFormat = readResponseFormat(body);
  const citing = responseFormat === undefined ? 'marks' : 'none';
  const { tools, webSearch } = readTools(body, citing);
  const searches = createSearchReader(seal, citing);
  const messages = readMessages(body, { searches, keepsBillingLines });
  const sources = searches.sources();
  return {
    modelName: readModelName(body.model),
    messages,
    tools,
    webSearch,
    sources: sources.length === 0 ? undefined : sources,
    toolChoice: readToolChoice(body.tool_choice, tools),
    responseFormat,
    maxOutputTokens: body.max_tokens,
    reasoning: readReasoning(body),
    sampling: readSampling(body),
    stream: body.stream === true,
    // Every answer of this format has its usage.
    includeUsage: true,
    inert: inertFields(value, inertNames),
  };
}

/** On this surface a schema is always enforced, like a schema with `strict` on the chat surface. */
function readResponseFormat(body: MessagesBody): ResponseFormat | undefined {
  const format = body.output_config?.format ?? body.output_format;
  if (format === undefined || format === null) return undefined;
  return { type: 'json_schema', name: 'output', schema: format.schema, strict: true };
}

function readSampling(body: MessagesBody): Sampling {
  const parts: PartValues = readParts(body);
  return samplingOf((name) => {
    const { messages } = parameters[name];
    switch (messages.kind) {
      case 'none':
        return undefined;
      case 'field':
        return body[messages.name];
      case 'part':
        return parts[name];
    }
  });
}

type PartValues = { readonly [Name in ParameterName]?: Sampling[Name] | undefined };

/** Reads the parameters that this surface has inside other fields. */
function readParts({ tool_choice: choice }: MessagesBody): Required<Pick<PartValues, PartName>> {
  const oneCall = choice !== undefined && choice !== null && 'disable_parallel_tool_use' in choice;
  const alone = oneCall && choice.disable_parallel_tool_use === true;
  return { parallel_tool_calls: alone ? false : undefined };
}
