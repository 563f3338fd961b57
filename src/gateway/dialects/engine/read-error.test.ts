import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EngineError } from '../../../core/event.ts';
import { errorIn } from './find-error.ts';
import { chatErrors, readError } from './read-error.ts';

const openai = (message: string, type: string | null = 'invalid_request_error', code: unknown = null): object => ({
  error: { message, type, param: null, code },
});
const flat = (message: string, type: string, code: number): object => ({
  object: 'error',
  message,
  type,
  param: null,
  code,
});

/** Real errors of engines and providers, from their sources, documentation and users' reports. */
const rows: readonly (readonly [engine: string, status: number, body: object | string, meaning: EngineError])[] = [
  // The prompt is too long.
  [
    'openai',
    400,
    openai(
      "This model's maximum context length is 8192 tokens. However, your messages resulted in 8545 tokens. Please reduce the length of the messages.",
      'invalid_request_error',
      'context_length_exceeded',
    ),
    'context-length',
  ],
  [
    'openai',
    400,
    openai('Your input exceeds the context window of this model. Please adjust your input and try again.'),
    'context-length',
  ],
  [
    'vllm 0.32',
    400,
    {
      error: {
        message:
          "This model's maximum context length is 2048 tokens. However, your prompt contains at least 2049 input tokens, which exceeds this limit even without any output tokens. Please reduce the length of the input prompt. (parameter=input_tokens, value=2049)",
        type: 'BadRequestError',
        param: 'input_tokens',
        code: 400,
      },
    },
    'context-length',
  ],
  [
    'vllm 0.32',
    400,
    {
      error: {
        message:
          'max_tokens=5000 cannot be greater than max_model_len=2048. Please request fewer output tokens. (parameter=max_tokens, value=5000)',
        type: 'BadRequestError',
        param: 'max_tokens',
        code: 400,
      },
    },
    'context-length',
  ],
  [
    'vllm',
    400,
    flat(
      "This model's maximum context length is 131072 tokens. However, you requested 156632 tokens (152536 in the messages, 4096 in the completion). Please reduce the length of the messages or completion.",
      'BadRequestError',
      400,
    ),
    'context-length',
  ],
  [
    'vllm',
    400,
    openai(
      "'max_tokens' or 'max_completion_tokens' is too large: 5000. This model's maximum context length is 4096 tokens and your request has 100 input tokens (5000 > 4096 - 100).",
      'BadRequestError',
      400,
    ),
    'context-length',
  ],
  [
    'vllm',
    400,
    openai(
      'The decoder prompt (length 9000) is longer than the maximum model length of 8192. Make sure that `max_model_len` is no smaller than the number of text tokens.',
      'BadRequestError',
      400,
    ),
    'context-length',
  ],
  ['vllm', 400, flat('max_tokens must be at least 1, got -186.', 'BadRequestError', 400), 'context-length'],
  [
    'sglang',
    400,
    flat(
      'max_completion_tokens is too large: 5000.This model supports at most 2048 completion tokens.',
      'BadRequestError',
      400,
    ),
    'context-length',
  ],
  [
    'sglang',
    400,
    flat("The input (10009 tokens) is longer than the model's context length (8192 tokens).", 'BadRequest', 400),
    'context-length',
  ],
  [
    'sglang',
    400,
    flat(
      "Requested token count exceeds the model's maximum context length of 64000 tokens. You requested a total of 71897 tokens: 7897 tokens from the input messages and 64000 tokens for the completion. Please reduce the number of tokens in the input messages or the completion to fit within the limit.",
      'BadRequest',
      400,
    ),
    'context-length',
  ],
  [
    'sglang',
    400,
    { detail: "The input (10009 tokens) is longer than the model's context length (128 tokens)." },
    'context-length',
  ],
  [
    'sglang',
    400,
    flat('Input length 100000 exceeds the maximum allowed length 65536.', 'BadRequest', 400),
    'context-length',
  ],
  [
    'llamacpp',
    400,
    {
      error: {
        code: 400,
        message: 'request (40000 tokens) exceeds the available context size (4096 tokens), try increasing it',
        type: 'exceed_context_size_error',
        n_prompt_tokens: 40_000,
        n_ctx: 4096,
      },
    },
    'context-length',
  ],
  [
    'llamacpp',
    400,
    {
      error: {
        code: 400,
        message: 'the request exceeds the available context size, try increasing it',
        type: 'invalid_request_error',
      },
    },
    'context-length',
  ],
  [
    'llamacpp',
    500,
    { error: { code: 500, message: 'Context size has been exceeded.', type: 'server_error' } },
    'context-length',
  ],
  ['ollama', 400, openai('prompt too long; exceeded max context length by 15935 tokens'), 'context-length'],
  ['ollama', 400, { error: 'The prompt is too long: 380813, model maximum context length: 262144' }, 'context-length'],
  [
    'tgi',
    422,
    {
      error:
        'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 1512. Given: 30 `inputs` tokens and 3984 `max_new_tokens`',
      error_type: 'validation',
    },
    'context-length',
  ],
  [
    'tgi',
    422,
    {
      error: {
        message: 'Input validation error: `inputs` must have less than 1024 tokens. Given: 3000',
        http_status_code: 422,
      },
    },
    'context-length',
  ],
  [
    'deepseek',
    400,
    openai(
      "This model's maximum context length is 65536 tokens. However, you requested 70000 tokens (66000 in the messages, 4000 in the completion). Please reduce the length of the messages or completion.",
    ),
    'context-length',
  ],
  [
    'dashscope',
    400,
    openai(
      '<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 983616]',
      'invalid_request_error',
      'invalid_parameter_error',
    ),
    'context-length',
  ],
  [
    'moonshot',
    400,
    {
      error: {
        message: 'Invalid request: Your request exceeded model token limit: 262144 (requested: 269030)',
        type: 'invalid_request_error',
      },
    },
    'context-length',
  ],
  ['zai', 400, { error: { code: '1261', message: 'Prompt exceeds max length' } }, 'context-length'],
  ['fireworks', 400, openai('The prompt is too long: 150000, model maximum context length: 131071'), 'context-length'],
  [
    'together',
    422,
    openai(
      'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: 1218 `inputs` tokens and 1500 `max_new_tokens`',
    ),
    'context-length',
  ],
  [
    'together',
    403,
    openai("The input (516368 tokens) is longer than the model's context length (262144 tokens)."),
    'context-length',
  ],
  [
    'xai',
    400,
    {
      code: 'Client specified an invalid argument',
      error: "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    },
    'context-length',
  ],
  [
    'groq',
    400,
    openai(
      'Please reduce the length of the messages or completion.',
      'invalid_request_error',
      'context_length_exceeded',
    ),
    'context-length',
  ],
  // Rate limits.
  [
    'openai',
    429,
    openai(
      'Rate limit reached for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Used 29000.',
      'tokens',
      'rate_limit_exceeded',
    ),
    'rate-limit',
  ],
  [
    'groq',
    413,
    openai(
      'Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 9000, please reduce your message size and try again.',
      'tokens',
      'rate_limit_exceeded',
    ),
    'rate-limit',
  ],
  [
    'moonshot',
    429,
    { error: { message: 'Your account reached max request', type: 'rate_limit_reached_error' } },
    'rate-limit',
  ],
  [
    'dashscope',
    429,
    { code: 'Throttling.RateQuota', message: 'Requests rate limit exceeded, please try again later.' },
    'rate-limit',
  ],
  ['zai', 429, { error: { code: '1302', message: 'High concurrency usage of this API' } }, 'rate-limit'],
  ['an unknown engine', 429, '', 'rate-limit'],
  // Overload.
  [
    'moonshot',
    429,
    {
      error: { message: 'The engine is currently overloaded, please try again later', type: 'engine_overloaded_error' },
    },
    'overloaded',
  ],
  ['tgi', 429, { error: 'Model is overloaded', error_type: 'overloaded' }, 'overloaded'],
  ['ollama', 503, { error: 'server busy, please try again. maximum pending requests exceeded' }, 'overloaded'],
  ['llamacpp', 503, { error: { code: 503, message: 'Loading model', type: 'unavailable_error' } }, 'overloaded'],
  ['deepseek', 503, openai('Server overloaded', 'service_unavailable_error'), 'overloaded'],
  ['together', 503, openai('The server is overloaded or not ready yet.', 'server_error'), 'overloaded'],
  ['envoy', 503, 'upstream connect error or disconnect/reset before headers', 'overloaded'],
  // The operator's account.
  ['deepseek', 402, openai('Insufficient Balance', 'unknown_error', 'invalid_request_error'), 'account'],
  [
    'deepseek',
    401,
    openai('Authentication Fails, Your api key is invalid', 'authentication_error', 'invalid_request_error'),
    'account',
  ],
  [
    'moonshot',
    429,
    { error: { message: 'Your account is suspended', type: 'exceeded_current_quota_error' } },
    'account',
  ],
  [
    'zai',
    429,
    { error: { code: '1113', message: 'Insufficient balance or no resource package. Please recharge.' } },
    'account',
  ],
  [
    'dashscope',
    400,
    openai('Access denied, please make sure your account is in good standing.', 'Arrearage', 'Arrearage'),
    'account',
  ],
  ['openai', 429, openai('You exceeded your current quota', 'insufficient_quota', 'insufficient_quota'), 'account'],
  ['vllm', 401, { error: 'Unauthorized' }, 'account'],
  ['an unknown engine', 403, '<html><h1>Forbidden</h1></html>', 'account'],
  // A wrong route or request.
  [
    'vllm',
    400,
    openai('Stream options can only be defined when `stream=True`.', 'BadRequestError', 400),
    'bad-request',
  ],
  ['vllm', 404, openai('The model `x` does not exist.', 'NotFoundError', 404), 'not-found'],
  ['ollama', 404, openai('model "qwen3:8b" not found, try pulling it first', 'api_error', null), 'not-found'],
  ['nginx', 404, '<html><h1>404 Not Found</h1></html>', 'not-found'],
  ['an unknown engine', 418, '', 'other'],
  ['sglang', 400, flat('Validation error', 'BadRequestError', 400), 'bad-request'],
  [
    'tgi',
    422,
    { error: 'Input validation error: `temperature` must be strictly positive', error_type: 'validation' },
    'bad-request',
  ],
  [
    'dashscope',
    400,
    openai('Range of max_tokens should be [1, 8192]', 'invalid_request_error', 'invalid_parameter_error'),
    'bad-request',
  ],
  [
    'zai',
    400,
    { error: { code: '1214', message: 'Invalid tool_choice parameter. Please check the documentation' } },
    'bad-request',
  ],
  ['fireworks', 400, { error: 'Extra inputs are not permitted, field: reasoning' }, 'bad-request'],
  ['fastapi', 422, { detail: [{ loc: ['body', 'messages'], msg: 'Field required', type: 'missing' }] }, 'bad-request'],
  [
    'moonshot',
    400,
    { error: { message: 'invalid temperature: only 1 is allowed for this model', type: 'invalid_request_error' } },
    'bad-request',
  ],
  ['an unknown engine', 400, '', 'bad-request'],
  ['nginx', 413, '<html><h1>413 Request Entity Too Large</h1></html>', 'misconfigured'],
  // Unknown.
  [
    'dashscope',
    400,
    openai('Output data may contain inappropriate content.', 'data_inspection_failed', 'data_inspection_failed'),
    'content-policy',
  ],
  [
    'zai',
    400,
    { error: { code: '1301', message: 'System detected potentially unsafe or sensitive content' } },
    'content-policy',
  ],
  [
    'vllm',
    500,
    openai('EngineCore encountered an issue. See stack trace (above) for the root cause.', 'InternalServerError', 500),
    'other',
  ],
  ['an unknown engine', 500, '', 'other'],
  ['an unknown engine', 204, '', 'other'],
  ['a gateway', 408, 'Request Timeout', 'other'],
];

describe('an error of an engine', () => {
  it.each(rows)('of %s (%i) %j means %s', (_, status, body, meaning) => {
    expect(chatErrors.read(status, typeof body === 'string' ? body : JSON.stringify(body)).engineError).toBe(meaning);
  });

  it.each(rows.filter(([, status, body]) => status >= 400 && typeof body !== 'string'))(
    'of %s (%i) %j is an error in a list, too, and means the same there',
    (_, status, body, meaning) => {
      expect(errorIn([body]) !== undefined || 'detail' in Object(body)).toBe(true);
      expect(readError([body], status).engineError).toBe(meaning);
    },
  );

  it.each([
    [{ error: { message: 'x', code: 429 } }, 'rate-limit', 429],
    [{ error: { message: 'x', code: '503' } }, 'overloaded', 503],
    [{ error: { message: 'x', http_status_code: 422 } }, 'bad-request', 422],
    [{ object: 'error', message: 'x', code: 400 }, 'bad-request', 400],
    [{ error: { message: 'x', code: 42 } }, 'other', undefined],
    [{ error: { message: 'x', code: 'invalid_request_error' } }, 'bad-request', undefined],
    [{ error: 'x' }, 'other', undefined],
    [{ error: true }, 'other', undefined],
  ])('inside a 200, %j, is classified by what it says itself', (body, engineError, status) => {
    expect(readError(body)).toEqual({ engineError, ...(status === undefined ? {} : { status }) });
  });

  it.each([
    [{ error: null, choices: [] }, false],
    [{ error: false, choices: [] }, false],
    [{ choices: [] }, false],
    [{ choices: [], message: 'x' }, false],
    [{}, false],
    [[], false],
    [null, false],
    ['error', false],
    [{ error: {}, choices: [] }, true],
    [{ error: '', choices: [] }, false],
    [{ object: 'error' }, true],
    [{ code: 'InternalError', message: 'x' }, true],
    [[{ error: { code: 500 } }], true],
    [[{ error: { code: 500 } }, {}], false],
  ])('%j is one: %j', (answer, expected) => {
    expect(errorIn(answer) !== undefined).toBe(expected);
  });

  it.each([
    [{ error: { message: 'Invalid value', param: 'temperature', code: 400 } }, 'temperature'],
    [
      { error: { message: 'Invalid schema for response_format', param: 'response_format.json_schema' } },
      'response_format',
    ],
    [{ detail: [{ loc: ['body', 'tools', 0, 'function'], msg: 'Field required', type: 'missing' }] }, 'tools'],
    [{ error: { message: 'Compiling json_schema failed' } }, 'response_format'],
    [{ error: { message: 'Stop saying that I should use tools', param: 'messages[0].content' } }, undefined],
    [{ error: { message: 'no', param: 'x'.repeat(300) } }, undefined],
  ])('%j names %s', (body, part) => {
    expect(chatErrors.read(400, JSON.stringify(body)).about).toBe(part);
    expect(chatErrors.read(500, JSON.stringify(body)).about).toBeUndefined();
  });

  it('has a body worth waiting for, whatever its status is', () => {
    const worth = Array.from({ length: 500 }, (_, index) => index + 100).filter((status) =>
      chatErrors.needsBody(status),
    );
    expect(worth).toEqual(Array.from({ length: 200 }, (_, index) => index + 400));
  });

  it('of any shape and size is read without an exception', () => {
    fc.assert(
      fc.property(fc.integer({ min: 100, max: 599 }), fc.oneof(fc.string(), fc.json()), (status, text) => {
        expect(typeof chatErrors.read(status, text).engineError).toBe('string');
      }),
    );
    const deep = '['.repeat(30_000) + ']'.repeat(30_000);
    expect(chatErrors.read(400, deep).engineError).toBe('bad-request');
    expect(chatErrors.read(400, `{"error":${JSON.stringify('maximum '.repeat(8000))}}`).engineError).toBe(
      'bad-request',
    );
  });
});

/** What engines and providers say of a prompt that does not fit, with whatever status. */
const tooLong: readonly (readonly [engine: string, sentence: string])[] = [
  ['vllm', "This model's maximum context length is 2048 tokens. However, you requested 5000 tokens."],
  ['vllm', 'The decoder prompt (length 5000) is longer than the maximum model length of 2048.'],
  ['vllm', "You passed 5000 input tokens. However, the model's context length is only 2048 tokens."],
  ['sglang', 'Input length (5000 tokens) exceeds the maximum allowed length (4090 tokens). Use --allow-auto-truncate.'],
  ['sglang', "The input (5000 tokens) is longer than the model's context length (4096 tokens)."],
  ['llamacpp', 'Context size has been exceeded.'],
  ['llamacpp', 'the request exceeds the available context size, try increasing it'],
  ['ollama', 'prompt too long; exceeded max context length by 12 tokens'],
  ['ollama', 'the input length exceeds the context length'],
  ['tgi', 'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000'],
  ['openai', 'Your input exceeds the context window of this model. Please adjust your input and try again.'],
  ['anthropic', 'prompt is too long: 215000 tokens > 200000 maximum'],
  ['anthropic', 'input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000'],
  ['gemini', 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).'],
  ['gemini', 'The input token count is 40000 but model only supports up to 32768.'],
  ['mistral', 'Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length'],
  ['cohere', 'too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 5000.'],
  ['cohere', 'too many tokens: size limit exceeded by 11326 tokens. Try using shorter or fewer inputs.'],
  ['deepseek', "This model's maximum context length is 65536 tokens."],
  ['groq', 'Please reduce the length of the messages or completion.'],
  ['bedrock', 'Input is too long for requested model.'],
  ['bedrock', 'Too many input tokens. Max input tokens: 8192, request input token count: 9000'],
  ['azure', 'Input tokens exceed the configured limit of 272000 tokens. Please reduce the length of the messages.'],
  ['xai', "This model's maximum prompt length is 131072 but the request contains 537812 tokens."],
  ['lmstudio', 'The number of tokens to keep from the initial prompt is greater than the context length'],
  ['minimax', 'invalid params, context window exceeds limit'],
  ['tensorrt', 'Prompt length (5000) exceeds maximum input length (4096)'],
  ['copilot', 'prompt token count of 150000 exceeds the limit of 128000'],
  ['siliconflow', 'length of prompt_tokens (98816) must be less than max_seq_len (32768).'],
  [
    'watsonx',
    'The estimated number of input and maximum output tokens (5000) exceeded this model context window limit.',
  ],
  ['an engine of tomorrow', 'your prompt has 9000 tokens, which exceeds the limit of 8192'],
  ['an engine of tomorrow', 'The conversation is larger than the context of this model'],
];
const shapes: readonly (readonly [shape: string, write: (sentence: string) => string])[] = [
  ['an error', (message) => JSON.stringify({ error: { message } })],
  ['a list', (message) => JSON.stringify([{ error: { message } }])],
  ['a string', (message) => JSON.stringify({ error: message })],
  ['an object alone', (message) => JSON.stringify({ message })],
  ['details', (detail) => JSON.stringify({ detail })],
  [
    'an error inside of an error',
    (message) => JSON.stringify({ error: { message: JSON.stringify({ error: { message } }) } }),
  ],
  ['plain text', (sentence) => sentence],
];

describe('a prompt that does not fit', () => {
  it.each(tooLong)('is told by %s: %s', (_, sentence) => {
    for (const status of [400, 413, 422, 500, 503]) {
      for (const [shape, write] of shapes) {
        expect(chatErrors.read(status, write(sentence)).engineError, `${status} ${shape}`).toBe('context-length');
      }
    }
  });

  it.each([
    [429, { error: { message: 'Request too large for model on tokens per minute (TPM)' } }, 'rate-limit'],
    [400, { error: { message: 'Too many tokens, please wait before trying again.' } }, 'rate-limit'],
    [400, { error: { message: 'image exceeds 5 MB maximum' } }, 'bad-request'],
    [400, { error: { message: 'Total tokens of image and text exceed max message tokens' } }, 'bad-request'],
    [400, { error: { message: 'schema of function look: too many tokens in its name' } }, 'bad-request'],
    [400, { error: { message: 'max_tokens: Input should be greater than 0' } }, 'bad-request'],
    [429, { error: { message: 'You exceeded your quota of input tokens, retry in 5 seconds' } }, 'rate-limit'],
    [500, { error: { message: 'request exceeded its time: 30 seconds, 12 tokens' } }, 'other'],
    [400, { error: { message: 'Range of max_tokens should be [1, 8192]' } }, 'bad-request'],
    [500, { error: { message: 'Internal error in tokenizer' } }, 'other'],
    [503, { error: { message: 'no healthy replica' } }, 'overloaded'],
    [413, {}, 'bad-request'],
  ])('is not what a %s of %j means', (status, body, meaning) => {
    expect(chatErrors.read(status, JSON.stringify(body)).engineError).toBe(meaning);
  });
});

describe('an error that the operator has to end', () => {
  it.each<readonly [number, string]>([
    ...[400, 411, 413, 414, 421, 422, 431].map((status) => [status, `<html><h1>${status} no</h1></html>`] as const),
    [400, '<!DOCTYPE html><title>Blocked</title>'],
    [413, '{"message":"Request size limit exceeded"}'],
    [
      400,
      '{"error":{"message":"\\"auto\\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set"}}',
    ],
    [400, '{"error":{"message":"default chat template is no longer allowed, so you must provide a chat template"}}'],
    [500, '{"error":{"code":500,"message":"tools param requires --jinja flag"}}'],
    [400, '{"object":"error","message":"Extra inputs are not permitted: cache_salt"}'],
  ])('%i %s', (status, body) => {
    expect(chatErrors.read(status, body).engineError).toBe('misconfigured');
  });

  it.each([
    [401, '<html>no</html>', 'account'],
    [400, '<html><center>The plain HTTP request was sent to HTTPS port</center></html>', 'not-found'],
    [400, 'Client sent an HTTP request to an HTTPS server.\n', 'not-found'],
    [400, 'Invalid host header', 'not-found'],
    [400, 'Invalid HTTP request received.', 'not-found'],
    [404, '<html>no</html>', 'not-found'],
    [502, '<html>no</html>', 'other'],
    [503, '<html>no</html>', 'overloaded'],
    [400, '{"error":{"message":"Invalid value for temperature"}}', 'bad-request'],
  ])('a %i of %s means what it meant', (status, body, meaning) => {
    expect(chatErrors.read(status, body).engineError).toBe(meaning);
  });
});

describe('an error about a field that the service chose', () => {
  const extra = (...loc: readonly (string | number)[]) => ({
    detail: [{ type: 'extra_forbidden', loc: ['body', ...loc], msg: 'Extra inputs are not permitted' }],
  });
  it.each([
    [422, extra('max_completion_tokens'), 'cap'],
    [422, { object: 'error', message: extra('max_completion_tokens'), type: 'invalid_request_error' }, 'cap'],
    [
      400,
      openai(
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        'unsupported_parameter',
      ),
      'cap',
    ],
    [400, { error: 'Unrecognized request argument supplied: max_completion_tokens' }, 'cap'],
    [400, { error: { message: 'Unknown parameter', param: 'stream_options' } }, 'streamUsage'],
    [422, extra('stream_options'), 'streamUsage'],
    [422, extra('stream_options', 'continuous_usage_stats'), 'runningUsage'],
    [422, extra('messages', 1, 'assistant', 'reasoning_content'), 'trace'],
    [422, extra('messages', 1, 'assistant', 'reasoning'), 'trace'],
    [400, { error: 'unknown field: tool_stream' }, 'toolStream'],
    [400, { error: { message: "property 'stream_options' is unsupported" } }, 'streamUsage'],
    [400, { error: { message: 'Unknown name "max_completion_tokens": Cannot find field.' } }, 'cap'],
    [400, { error: { message: "'max_completion_tokens' is not a valid parameter" } }, 'cap'],
    [400, { error: { message: "Unsupported value: 'max_tokens' must be 1 or more" } }, undefined],
    [422, extra('chat_template_kwargs'), 'reasoning'],
    [400, { error: { message: "Unsupported parameter: 'temperature'", param: 'temperature' } }, undefined],
    [400, { error: { message: 'max_completion_tokens must be at least 1' } }, undefined],
    [500, extra('max_completion_tokens'), undefined],
  ])('%i %j: %s', (status, body, field) => {
    expect(chatErrors.read(status, JSON.stringify(body)).refuses).toBe(field);
  });
});
