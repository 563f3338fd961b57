import type { ReadOptions } from '../../../core/dialect.ts';
import { readModelName } from '../../core/model-name.ts';
import type { Sampling } from '../../../core/parameters.ts';
import type { Request, ResponseFormat } from '../../../core/request.ts';
import { samplingOf } from '../parameter-fields.ts';
import { inertFields, parseBody } from '../read-body.ts';
import { refuseStored } from '../stored-state.ts';
import { readFormat } from '../wire-fields.ts';
import { readItems } from './read-items.ts';
import { readReasoning, readTraceForm } from './read-reasoning.ts';
import { hasOfflineSearch, readTools } from './read-tools.ts';
import { type ResponsesBody, responsesBody } from './schema.ts';
import { createSearchItemReader } from './search-items.ts';

/**
 * Fields that are accepted, have no effect and are listed to the caller (docs/reference/endpoints.md §4.1). Other unknown fields are not
 * listed. `inertValues` has those that are listed only with a value that asks for something.
 */
const inertNames: ReadonlySet<string> = new Set([
  'access_programs',
  'context_management',
  'image',
  'moderation',
  'service_tier',
]);

/**
 * Reads a parsed responses body into a request. `metadata`, `user` and `safety_identifier` are dropped, since they may hold an end
 * user's id. Throws `invalid_request` with the path of the first invalid field, `param_not_supported` for a field that needs a stored
 * answer, `variant_not_supported`, or `web_search_name_reserved`.
 */
export function readRequest(value: unknown, { seal, traces }: ReadOptions = {}): Request {
  refuseStored(value, 'responses');
  const body = parseBody(responsesBody, value);
  const responseFormat = readResponseFormat(body);
  const citing = responseFormat === undefined || responseFormat.type === 'text' ? 'marks' : 'none';
  const include = new Set(body.include);
  const searches = createSearchItemReader(seal, citing);
  const messages = readItems(body, { searches, traces });
  const sources = searches.sources();
  return {
    modelName: readModelName(body.model),
    messages,
    ...readTools(body, citing),
    sources: sources.length === 0 ? undefined : sources,
    responseFormat,
    maxOutputTokens: body.max_output_tokens ?? undefined,
    reasoning: readReasoning(body),
    traceForm: readTraceForm(body, include),
    sampling: readSampling(body, include),
    stream: body.stream === true,
    // Every answer of this format has its usage.
    includeUsage: true,
    inert: [...inertFields(value, inertNames), ...inertValues(body)],
  };
}

function inertValues(body: ResponsesBody): readonly string[] {
  const { store, truncation, text } = body;
  return [
    ...(hasOfflineSearch(body) ? ['tools.web_search'] : []),
    ...(store === true ? ['store'] : []),
    ...(truncation === 'auto' ? ['truncation'] : []),
    ...(text?.verbosity === undefined || text.verbosity === null ? [] : ['text.verbosity']),
  ];
}

function readResponseFormat({ text }: ResponsesBody): ResponseFormat | undefined {
  const format = text?.format;
  if (format === undefined || format === null) return undefined;
  if (format.type !== 'json_schema') return { type: format.type };
  return readFormat(format);
}

/** The parameters that this format has. It asks for token probabilities by naming them among the parts to include. */
function readSampling(body: ResponsesBody, include: ReadonlySet<string>): Sampling {
  const { temperature, top_p, top_logprobs, parallel_tool_calls } = body;
  const wantsLogprobs = include.has('message.output_text.logprobs') || (top_logprobs ?? 0) > 0;
  const values: Readonly<Record<string, unknown>> = {
    temperature,
    top_p,
    parallel_tool_calls,
    ...(wantsLogprobs ? { logprobs: true, top_logprobs } : {}),
  };
  return samplingOf((name) => values[name]);
}
