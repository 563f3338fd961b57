import type { Feature } from '../../../core/capability.ts';
import { engineNames } from '../../../core/engine-name.ts';
import type { EngineError, EngineErrorReading } from '../../../core/event.ts';
import { isObject, parseJson } from '../../../core/json.ts';
import { engineWord, type ParameterName, parameterNames, parameters } from '../../../core/parameters.ts';
import { engineCause } from './engine-cause.ts';

interface ErrorReading extends EngineErrorReading {
  /** The HTTP status that the body of a 200 names, if any. */
  readonly status: number | undefined;
}

/** Most characters of a message that are read. */
const maxMessage = 4096;

/** Codes and types with one certain meaning, whatever the message says. In lower case. */
const codes: ReadonlyMap<string, EngineError> = new Map<string, EngineError>([
  // OpenAI, Groq, DeepSeek · llama.cpp · Z.ai's finish_reason · Z.ai's code
  ...rows('context-length', 'context_length_exceeded', 'exceed_context_size_error'),
  ...rows('context-length', 'model_context_window_exceeded', '1261'),
  // OpenAI, Groq · Moonshot · vLLM · DashScope (compatible mode, then its own) · Z.ai: concurrency, frequency, per day
  ...rows('rate-limit', 'rate_limit_exceeded', 'rate_limit_error', 'rate_limit_reached_error', 'ratelimiterror'),
  ...rows('rate-limit', 'limit_requests', 'limit_burst_rate', 'too_many_requests', '1302', '1303', '1304'),
  ...rows('rate-limit', 'throttling', 'throttling.ratequota', 'throttling.allocationquota', 'throttling.burstrate'),
  // Moonshot · Anthropic-like · vLLM · TGI · Z.ai · llama.cpp while it loads
  ...rows('overloaded', 'engine_overloaded_error', 'overloaded_error', 'overloaded', 'serviceunavailableerror'),
  ...rows('overloaded', 'service_unavailable', 'unavailable_error', 'server_overloaded', '1305', '1312'),
  // OpenAI, DashScope · Moonshot · DashScope · vLLM · Z.ai: authentication, account, balance, permission, plan
  ...rows('account', 'insufficient_quota', 'invalid_api_key', 'account_deactivated', 'billing_hard_limit_reached'),
  ...rows('account', 'exceeded_current_quota_error', 'invalid_authentication_error', 'incorrect_api_key_error'),
  ...rows('account', 'permission_denied_error', 'authentication_error', 'authenticationerror', 'permission_error'),
  ...rows('account', 'arrearage', 'access_denied', 'insufficient_balance', 'unauthorized', 'permissiondeniederror'),
  ...rows('account', '1000', '1001', '1002', '1003', '1004', '1110', '1111', '1112', '1113', '1121', '1220'),
  ...rows('account', '1308', '1309', '1310', '1311', '1313'),
  // A provider's own content filter.
  ...rows('content-policy', 'content_filter', 'content_policy_violation', '1301'),
  ...rows('content-policy', 'data_inspection_failed', 'datainspectionfailed'),
]);

/** Codes and types that say no more than a status does. They count only when the message is not known. */
const vagueCodes: ReadonlyMap<string, EngineError> = new Map<string, EngineError>([
  ...rows('bad-request', 'invalid_request_error', 'invalid_request', 'badrequesterror', 'badrequest', 'bad_request'),
  ...rows('bad-request', 'invalid_parameter_error', 'invalidparameter', 'validation', 'validation_error'),
  ...rows('bad-request', 'unprocessableentityerror', 'unprocessable_entity', 'value_error', 'requesttoolargeerror'),
  ...rows('bad-request', '1210', '1213', '1214', '1215'),
  ...rows('not-found', 'not_found_error', 'notfounderror', 'resource_not_found_error', 'model_not_found'),
  ...rows('not-found', '1211', '1212', '1222'),
  ...rows('overloaded', 'engine_overloaded', 'capacity_exceeded'),
]);

function rows(meaning: EngineError, ...names: readonly string[]): readonly (readonly [string, EngineError])[] {
  return names.map((name) => [name, meaning] as const);
}

/** The meaning of messages; the first match counts. Rates come before lengths: Groq's "Request too large … tokens per minute" is a rate. */
const messages: readonly (readonly [pattern: RegExp, meaning: EngineError])[] = [
  [/rate.?limit|too many requests|(?:tokens|requests) per (?:second|minute|day)|throttl|\b[tr]p[md]\b/, 'rate-limit'],
  // vLLM, OpenAI, DeepSeek, SGLang, Fireworks: "(this) model's maximum context length (is)", "maximum model length".
  [/max(?:imum)? (?:context|model|sequence|prompt) len(?:gth)?/, 'context-length'],
  // vLLM 0.32: "max_tokens=5000 cannot be greater than max_model_len=2048."
  [/cannot be greater than max_model_len/, 'context-length'],
  // SGLang: "max_completion_tokens is too large: N.This model supports at most M completion tokens."
  [/max_(?:completion_)?tokens is too large/, 'context-length'],
  // SGLang, Together: "The input (N tokens) is longer than the model's context length (M tokens)."
  [/longer than the model'?s context|exceeds? (?:the )?(?:model'?s )?(?:maximum )?context/, 'context-length'],
  // llama.cpp: "the request exceeds the available context size"; "context size has been exceeded".
  [/available context size|context (?:size|length|window)(?: has been| is)? exceed/, 'context-length'],
  // OpenAI: "Your input exceeds the context window"; Ollama: "prompt too long; exceeded max context length".
  [/(?:input|prompt)(?: is)? too long|exceeds the context window|context window exceeds/, 'context-length'],
  // OpenAI, Groq, vLLM: "Please reduce the length of the messages or completion."
  [/reduce the (?:length|number) of (?:the )?(?:messages|(?:input )?(?:prompt|tokens|messages))/, 'context-length'],
  // TGI, Together: "`inputs` tokens + `max_new_tokens` must be <= N"; "`inputs` must have less than N tokens".
  [/`inputs` tokens \+ `max_new_tokens` must be|`inputs` must have less than/, 'context-length'],
  // DashScope: "Range of input length should be [1, N]". Moonshot: "Your request exceeded model token limit: N".
  [/range of input length should be|exceeded model token limit/, 'context-length'],
  // Z.ai: "Prompt exceeds max length". SGLang and others: "Input length N exceeds the maximum (allowed) length M".
  [/(?:prompt|input)(?: length)?(?: \(?\d+\)?)? exceeds (?:the )?max/, 'context-length'],
  // vLLM of old counted the room left for the answer: "max_tokens must be at least 1, got -186."
  [/max_(?:completion_)?tokens must be at least 1, got -\d/, 'context-length'],
  [/overload|out of capacity|at capacity|no available (?:workers?|server)|temporarily unavailable/, 'overloaded'],
  // TGI: "Model is overloaded" (above). Ollama: "server busy, please try again. maximum pending requests exceeded".
  [/server (?:is )?busy|maximum pending requests|queue (?:is )?full|loading model/, 'overloaded'],
  // vLLM, Ollama, OpenAI: "The model `x` does not exist", "model 'x' not found".
  [/\bmodel [`'"]?[\w./:-]+[`'"]? (?:does not exist|not found)/, 'not-found'],
  [/insufficient (?:balance|quota|credit)|in arrears|(?:invalid|incorrect|expired) api.?key|unauthorized/, 'account'],
];

/** Statuses by which an engine refuses the request as it is. Any other 4xx may mean anything. */
const requestStatuses: ReadonlySet<number | undefined> = new Set([400, 413, 422]);

type NamedPart = readonly [pattern: RegExp, part: Feature];

/** Every word for a parameter: ours, and those of engines. */
const wordsFor = (name: ParameterName): readonly string[] => [
  ...new Set([name, ...engineNames.map((engine) => engineWord(name, engine))]),
];

/** Longer names come first, because an error about `top_logprobs` also contains `logprobs`. */
const parametersInErrors = parameterNames.toSorted((a, b) => b.length - a.length);

/** Parts of a request by their names in an error's `param`, `loc` or message. The first match counts: an error about a schema also names properties. */
const parts: readonly NamedPart[] = [
  [/\bresponse_?format\b|\bjson_schema\b|\bguided_(?:json|grammar)\b|\bstructured_outputs?\b/, 'response_format'],
  [/\btool_choice\b/, 'tool_choice'],
  [/\breasoning_effort\b|\benable_thinking\b|\bthinking_token_budget\b/, 'reasoning'],
  // vLLM 0.32: "n must be 1 when using greedy sampling, got 2." It names no parameter in a field.
  [/\bn must be 1\b/, 'n'],
  ...parametersInErrors
    .filter((name) => parameters[name].namedInErrors === 'anywhere')
    .map((name): NamedPart => [new RegExp(`\\b(?:${wordsFor(name).join('|')})\\b`), name]),
];
/** Names that are also ordinary words: they count in `param` and `loc` alone. */
const plainParts: ReadonlyMap<string, Feature> = new Map<string, Feature>([
  ['tools', 'tools'],
  ['reasoning', 'reasoning'],
  ...parameterNames
    .filter((name) => parameters[name].namedInErrors === 'param')
    .flatMap((name) => wordsFor(name).map((word) => [word, name] as const)),
]);

/** The meaning of a status when neither code nor message is known. */
const statuses: ReadonlyMap<number, EngineError> = new Map([
  [401, 'account'],
  [402, 'account'],
  [403, 'account'],
  [404, 'not-found'],
  [405, 'not-found'],
  [408, 'other'],
  [425, 'rate-limit'],
  [429, 'rate-limit'],
  [503, 'overloaded'],
  [529, 'overloaded'],
]);

/** Whether the body of an answer with this status is worth waiting for. The meaning of a 429 or a 5xx is in the status, and the next route should not wait. */
function needsErrorBody(status: number): boolean {
  return status >= 400 && status < 500 && status !== 429;
}

/** What an error says. */
interface ErrorWords {
  message: string;
  /** Codes and types. */
  readonly names: string[];
  /** The names in `param` and `loc`. */
  readonly places: string[];
  status: number | undefined;
}

function takeName(words: ErrorWords, value: unknown): void {
  // Some engines write the status as text.
  const status = typeof value === 'string' && /^[45]\d\d$/.test(value) ? Number(value) : value;
  if (typeof status === 'number' && status >= 400 && status < 600) words.status ??= status;
  else if (typeof value === 'number' || typeof value === 'string') words.names.push(String(value).toLowerCase());
}

/** Collects what an error says in any shape: an object, a string, a list, one inside of another. */
function collect(value: unknown, words: ErrorWords, depth = 0): ErrorWords {
  if (typeof value === 'string') words.message += ` ${value.slice(0, maxMessage).toLowerCase()}`;
  if (depth > 4) return words;
  if (Array.isArray(value)) collect(value[0], words, depth + 1);
  if (!isObject(value)) return words;
  for (const name of ['code', 'type', 'status', 'error_type', 'http_status_code', 'error_code'])
    takeName(words, value[name]);
  // OpenAI and vLLM have `param`, FastAPI has `loc`.
  for (const place of [value['param'], value['loc']].flat()) {
    if (typeof place === 'string' && place.length <= 256) words.places.push(...place.toLowerCase().split(/[.[\]]/));
  }
  // FastAPI, and SGLang with it, has `detail`, a list of objects with `msg`.
  for (const name of ['message', 'msg', 'detail', 'error', 'errors']) collect(value[name], words, depth + 1);
  return words;
}

/** The part of the request that an error names. The result is one of our names: nothing of the engine's text is passed on. */
function partOf({ places, message }: ErrorWords): Feature | undefined {
  const plain = places.map((place) => plainParts.get(place)).find((part) => part !== undefined);
  const text = `${places.join(' ')} ${message}`;
  return plain ?? parts.find(([pattern]) => pattern.test(text))?.[1];
}

/** Reads an engine's error that was parsed from JSON. `status`: the status of the answer. Absent for a 200. */
export function readError(value: unknown, status?: number): ErrorReading {
  const words = collect(value, { message: '', names: [], places: [], status: undefined });
  const { message, names, status: inBody } = words;
  const known = status ?? inBody;
  const named = (table: ReadonlyMap<string, EngineError>): EngineError | undefined =>
    names.map((name) => table.get(name)).find((meaning) => meaning !== undefined);
  const engineError =
    named(codes) ??
    messages.find(([pattern]) => pattern.test(message))?.[1] ??
    statuses.get(known ?? 0) ??
    named(vagueCodes) ??
    (requestStatuses.has(known) ? 'bad-request' : 'other');
  const about = engineError === 'bad-request' ? partOf(words) : undefined;
  return { engineError, about, cause: engineCause({ status: known, message, names }), status: inBody };
}

/** Reads the body of an answer with an error status: JSON in any shape, else text. */
function readErrorBody(status: number, text: string): EngineErrorReading {
  const { engineError, about, cause } = readError(parseJson(text) ?? text, status);
  return { engineError, about, cause };
}

/** How dispatch reads answers with an error status. */
export const chatErrors = { needsBody: needsErrorBody, read: readErrorBody };

/** Whether a parsed answer or chunk of a 200 is an error. A falsy `error` does not count, just like in clients. */
export function isError(answer: unknown): boolean {
  if (Array.isArray(answer)) return answer.length > 0 && answer.every((item) => isObject(item) && isError(item));
  if (!isObject(answer)) return false;
  if (answer['error']) return true;
  // Old vLLM and SGLang have `object: "error"`; DashScope has `code` and `message` alone.
  return answer['object'] === 'error' || (answer['choices'] === undefined && typeof answer['message'] === 'string');
}
