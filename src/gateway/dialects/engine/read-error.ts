import { type Feature, type OwnField, ownFields, ownFieldWords } from '../../../core/capability.ts';
import { engineNames } from '../../../core/engine-name.ts';
import type { EngineError, EngineErrorReading } from '../../../core/event.ts';
import { isObject, parseJson } from '../../../core/json.ts';
import { engineWord, type ParameterName, parameterNames, parameters } from '../../../core/parameters.ts';
import { batchLimit, engineCause, isCauseName } from './engine-cause.ts';
import { type AskedCall, quoteError } from './quote-error.ts';

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
  // GitHub Models · MiniMax's token limit · Qianfan
  ...rows('context-length', 'model_max_prompt_tokens_exceeded', '1039', '336007'),
  // OpenAI, Groq · Moonshot · vLLM · DashScope (compatible mode, then its own) · Z.ai: concurrency, frequency, per day
  ...rows('rate-limit', 'rate_limit_exceeded', 'rate_limit_error', 'rate_limit_reached_error', 'ratelimiterror'),
  ...rows('rate-limit', 'limit_requests', 'limit_burst_rate', 'too_many_requests', '1302', '1303', '1304'),
  // Bedrock
  ...rows('rate-limit', 'throttlingexception', 'resource_exhausted'),
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

/** What a server says that expects TLS or another name: no request gets to the engine. nginx, Go; Starlette; Uvicorn. */
const wrongServer = /http request (?:was sent )?to (?:an )?https|invalid host header|invalid http request/i;

/**
 * A sentence about a prompt that does not fit, in words that engines may choose: what was too long, that it was, and by what measure.
 * Sentences about other sizes and limits have one of the last words. vLLM, SGLang, llama.cpp, Ollama, LM Studio, Gemini, Anthropic,
 * Bedrock, Cohere, Mistral, Azure, Moonshot, TensorRT-LLM.
 */
const tooLong = new RegExp(
  [
    String.raw`^(?=.*(?:\b(?:prompt|inputs?|messages?|conversation|sequence|context|request(?:ed)?|tokens?)\b|prompt_tokens|input_tokens))`,
    String.raw`(?=.*(?:exceed|too (?:long|large|many)|(?:longer|larger|greater|more) than|only supports|of only|is only|must be less))`,
    String.raw`(?=.*(?:tokens?\b|context|max_seq|max_model_len|num_ctx|(?:prompt|input|sequence) (?:is |length|too )|max(?:imum)? (?:allowed )?(?:input )?length))`,
    String.raw`(?!.*\b(?:images?|files?|audio|schemas?|functions?|tools?|temperature|top_p|stop|quota|time|timeout|seconds?|memory|cuda|per|should be)\b)`,
  ].join(''),
  's',
);

/** The meaning of messages; the first match counts. Rates come before lengths: Groq's "Request too large … tokens per minute" is a rate. */
const messages: readonly (readonly [pattern: RegExp, meaning: EngineError])[] = [
  [/rate.?limit|too many requests|(?:tokens|requests) per (?:second|minute|day)|throttl|\b[tr]p[md]\b/, 'rate-limit'],
  // Bedrock: "Too many tokens, please wait before trying again."
  [/too many tokens,? please wait/, 'rate-limit'],
  // The engine takes less in one call than the operator has declared.
  [/physical batch size/, 'misconfigured'],
  [batchLimit, 'misconfigured'],
  // vLLM, OpenAI, DeepSeek, SGLang, Fireworks: "(this) model's maximum context length (is)", "maximum model length".
  [/max(?:imum)? (?:context|model|sequence|prompt) len(?:gth)?/, 'context-length'],
  // A code inside of a text: a proxy quotes the engine's answer.
  [/context_length_exceeded|exceed_context_size/, 'context-length'],
  // vLLM 0.32: "max_tokens=5000 cannot be greater than max_model_len=2048."
  [/cannot be greater than max_model_len/, 'context-length'],
  // SGLang: "max_completion_tokens is too large: N.This model supports at most M completion tokens."
  [/max_(?:completion_)?tokens is too large/, 'context-length'],
  // OpenAI, Groq, vLLM: "Please reduce the length of the messages or completion."
  [
    /reduce the (?:length|number) of (?:the |your )?(?:messages|(?:input )?(?:prompt|tokens|messages))/,
    'context-length',
  ],
  // TGI, Together: "`inputs` tokens + `max_new_tokens` must be <= N"; "`inputs` must have less than N tokens".
  [/`inputs` tokens \+ `max_new_tokens` must be|`inputs` must have less than/, 'context-length'],
  // DashScope: "Range of input length should be [1, N]".
  [/range of input length should be/, 'context-length'],
  [tooLong, 'context-length'],
  // vLLM of old counted the room left for the answer: "max_tokens must be at least 1, got -186."
  [/max_(?:completion_)?tokens must be at least 1, got -\d/, 'context-length'],
  [/overload|out of capacity|at capacity|no available (?:workers?|server)|temporarily unavailable/, 'overloaded'],
  // TGI: "Model is overloaded" (above). Ollama: "server busy, please try again. maximum pending requests exceeded".
  [/server (?:is )?busy|maximum pending requests|queue (?:is )?full|loading model/, 'overloaded'],
  // vLLM, Ollama, OpenAI: "The model `x` does not exist", "model 'x' not found".
  [/\bmodel [`'"]?[\w./:-]+[`'"]? (?:does not exist|not found)/, 'not-found'],
  [/insufficient (?:balance|quota|credit)|in arrears|(?:invalid|incorrect|expired) api.?key|unauthorized/, 'account'],
  [wrongServer, 'not-found'],
  // The engine was started without what the request needs. vLLM: "requires --enable-auto-tool-choice and --tool-call-parser to be
  // set"; "you must provide a chat template". llama.cpp: "tools param requires --jinja flag".
  [
    /(?:^|[\s"'`(])--[a-z][a-z\d-]{2,}|must provide a chat template|chat template is not (?:set|defined)/,
    'misconfigured',
  ],
  // Prompts of different workspaces must not share a cache, so the salt is never left out.
  [/\bcache_salt\b/, 'misconfigured'],
  // API gateways and body parsers: "Request size limit exceeded", "request entity too large".
  [
    /(?:request|payload) (?:entity )?too large|request size limit|header (?:or cookie )?(?:fields? )?too large/,
    'misconfigured',
  ],
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

interface ErrorWords {
  message: string;
  /** The same as the engine has written it. */
  said: string;
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
  if (typeof value === 'string' && words.message.length < maxMessage) {
    words.message += ` ${value.slice(0, maxMessage).toLowerCase()}`;
    if (!value.startsWith('{')) words.said += ` ${value.slice(0, maxMessage)}`;
  }
  if (depth > 4) return words;
  // Proxies quote the engine's error as JSON in a text.
  if (typeof value === 'string' && value.startsWith('{'))
    collect(parseJson(value.slice(0, maxQuoted)), words, depth + 1);
  if (Array.isArray(value)) for (const item of value.slice(0, maxItems)) collect(item, words, depth + 1);
  if (!isObject(value)) return words;
  for (const name of nameFields) takeName(words, value[name]);
  // OpenAI and vLLM have `param`, FastAPI has `loc`.
  for (const place of [value['param'], value['loc']].flat()) {
    if (typeof place === 'string' && place.length <= 256) words.places.push(...place.toLowerCase().split(/[.[\]]/));
  }
  // FastAPI, and SGLang with it, has `detail`, a list of objects with `msg`.
  for (const name of messageFields) collect(value[name], words, depth + 1);
  return words;
}

/** Maximum length of an error in a text that is parsed, and maximum number of errors of a list that are read. */
const maxQuoted = 16 * 1024;
const maxItems = 8;

const nameFields = ['code', 'type', 'status', 'error_type', 'http_status_code', 'error_code', 'status_code'] as const;
/** The messages of errors, and the errors inside of answers: `base_resp` is MiniMax's, `metadata.raw` OpenRouter's. */
const messageFields = [
  ...(['message', 'msg', 'detail', 'details', 'error', 'errors'] as const),
  ...(['error_msg', 'error_message', 'status_msg', 'base_resp', 'metadata', 'raw', 'reason', 'description'] as const),
] as const;

/** How errors say that they do not know a field, whatever its value. */
const unknownField =
  /extra.?(?:forbidden|inputs|fields)|unsupported(?! value)|not (?:a )?valid (?:parameter|field)|(?:unknown|unrecogni[sz]ed|unexpected|additional|undefined)[^.]{0,20}(?:parameter|field|argument|keyword|propert|key|name)|not (?:supported|permitted|allowed|recogni[sz]ed|available)|does not (?:support|accept|exist)|deprecated|no such (?:field|parameter)|cannot find field|instead/;

/**
 * The field that an error does not know, of those that the service itself chooses for an engine. The caller did not ask for them in
 * this form, so another form may serve the request.
 */
function refusedField({ places, message, names }: ErrorWords): OwnField | undefined {
  const text = `${names.join(' ')} ${message}`;
  if (!unknownField.test(text)) return undefined;
  const named = (words: string) => ownFields.find((field) => ownFieldWords[field].test(words));
  return named(places.join(' ')) ?? named(message);
}

/** The part of the request that an error names. The result is one of our names: nothing of the engine's text is passed on. */
function partOf({ places, message }: ErrorWords): Feature | undefined {
  const plain = places.map((place) => plainParts.get(place)).find((part) => part !== undefined);
  const text = `${places.join(' ')} ${message}`;
  return plain ?? parts.find(([pattern]) => pattern.test(text))?.[1];
}

const wordsOf = (value: unknown): ErrorWords =>
  collect(value, { message: '', said: '', names: [], places: [], status: undefined });

/** Text after which engines quote what the model wrote. Ollama: "error parsing tool call: raw='…', err=…". */
const modelsText = /\braw='.*/s;

/** Reads an engine's error that was parsed from JSON. `status`: the status of the answer. Absent for a 200. */
export function readError(value: unknown, status?: number): ErrorReading {
  return meaningOf(wordsOf(value), status);
}

function meaningOf(words: ErrorWords, status: number | undefined): ErrorReading {
  words.message = words.message.replace(modelsText, '');
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
  const reading = { engineError, cause: engineCause({ status: known, message, names }), status: inBody };
  if (engineError !== 'bad-request') return reading;
  return { ...reading, about: partOf(words), refuses: refusedField(words) };
}

/** A page for people. No engine writes one: a proxy or another server has answered. */
const page = /^\s*<(?:!doctype|html|head|body|center|h1|\?xml)/i;

/**
 * The engine's own sentence, for operators. Statuses that refuse the request quote it in ways of their own, so of these
 * only codes that are in our tables and the field's name are shown.
 */
function sentenceOf(words: ErrorWords, status: number, asked: AskedCall): string | undefined {
  if (status !== 400 && status !== 422) {
    return quoteError(words.said.replace(modelsText, '').replace(quotedOutput, '$1'), asked);
  }
  const code = words.names.find((name) => codes.has(name) || vagueCodes.has(name) || isCauseName(name));
  const field = partOf(words) ?? refusedField(words);
  const parts = [...(code === undefined ? [] : [`code ${code}`]), ...(field === undefined ? [] : [`field ${field}`])];
  return parts.length === 0 ? undefined : parts.join(', ');
}

/** Parsers of answers quote them. llama.cpp: "Failed to parse input at pos 12: …". */
const quotedOutput = /(\bpars(?:e|er|ing)\b[^:]{0,80}:).*/is;

/** Reads the body of an answer with an error status: JSON in any shape, else text. `asked`: the call that it answers. */
function readErrorBody(status: number, text: string, asked?: AskedCall): EngineErrorReading {
  if (page.test(text)) {
    const meaning = wrongServer.test(text) ? 'not-found' : statuses.get(status);
    const engineError = meaning ?? (status < 500 ? 'misconfigured' : 'other');
    const cause = engineCause({ status, message: text.slice(0, maxMessage).toLowerCase(), names: [] });
    const said = asked && quoteError(/<title>([^<]*)/i.exec(text)?.[1] ?? '', asked);
    return { engineError, cause, said };
  }
  const words = wordsOf(parseJson(text) ?? text);
  const { status: _, ...reading } = meaningOf(words, status);
  return { ...reading, said: asked && sentenceOf(words, status, asked) };
}

/** How dispatch reads answers with an error status. */
export const chatErrors = { needsBody: (status: number): boolean => status >= 400, read: readErrorBody };
