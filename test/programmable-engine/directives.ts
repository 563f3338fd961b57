import { anything, choice, choices, flag, integer, text, texts } from './directive.ts';
import { faultPosition } from './fault-position.ts';
import { script } from './script.ts';

const milliseconds = { min: 0, max: 3_600_000 };

/** Everything the programmable engine can be told, under the heading it has in the reference table. */
export const directiveGroups = {
  'Faults on the wire': {
    fault: choice(
      [
        ...(['cut', 'reset', 'stall', 'truncate', 'end'] as const),
        ...(['error', 'error-then-done', 'error-then-cut', 'malformed', 'malformed-then-cut'] as const),
      ],
      'The fault. `cut`: FIN before the end of the body. `reset`: RST. `stall`: silence, permanent or for `stallMs`. `truncate`: a chunk shorter than its size, then FIN. `end`: a clean end, too early. `error…`: an event `data: {"error": …}`, then the end. `malformed`: an extra line of invalid JSON.',
    ),
    at: faultPosition,
    stallMs: integer(milliseconds, 'Duration of a `stall`; the answer then continues.'),
    malformedLine: text('The line that `malformed` sends.'),
    errorJson: anything('The exact JSON of an error response or error event, instead of `errorBody`.'),
  },
  'Error replies': {
    status: integer(
      { min: 200, max: 599 },
      'Respond with this status and `errorBody` instead of an answer. 200 hides the error.',
    ),
    errorBody: choice(
      ['engine', 'flat', 'detail', 'string', 'array', 'text', 'html', 'empty', 'not-json'],
      'Shape of the error. `engine`: `{error: {message, type, param, code}}`; `flat`: the same without `error`; `detail`: `{detail}`; `string`: `{error: "…"}`; `array`: `[{error}]`.',
    ),
    retryAfter: text('Value of a `Retry-After` header on the error response.'),
    healthStatus: integer({ min: 200, max: 599 }, 'Status of `GET /health`.'),
    modelsStatus: integer({ min: 200, max: 599 }, 'Status of `GET …/models`.'),
    rejectFields: texts('A request with one of these fields gets a 400 that names it.'),
    strict: flag(
      'Refuse the requests that vLLM refuses: `tools: []`, `tool_choice` without tools, `stream_options` without a stream, `top_logprobs` without `logprobs`, `json_schema` without a schema. On by default.',
    ),
    anyModel: flag('Serve every model name, not only the listed ones.'),
    contextLength: integer(
      { min: 1, max: 2_000_000_000 },
      "Context window in tokens; a request that exceeds it gets vLLM's 400.",
    ),
  },
  Pace: {
    headersDelayMs: integer(milliseconds, 'Wait before the response headers.'),
    firstTokenDelayMs: integer(
      milliseconds,
      'Wait between the headers and the first chunk, like an engine during prefill.',
    ),
    prefillTokensPerSecond: integer(
      { min: 1, max: 1_000_000_000 },
      'Wait before the first chunk as well, for each uncached prompt token.',
    ),
    tokenDelayMs: integer(
      milliseconds,
      'Wait before each later chunk. A JSON answer waits for the total before its headers.',
    ),
    keepAliveMs: integer(
      { min: 1, max: 3_600_000 },
      'Interval of keep-alives during any wait or stall after the headers. A JSON answer then sends its headers at once.',
    ),
    keepAlive: choice(['comment', 'blank-line'], 'The keep-alive of a stream; a JSON answer always sends blank lines.'),
  },
  'The answer': {
    words: integer({ min: 0, max: 5_000_000 }, 'Words of the text, including the prompt quote.'),
    content: text('The text itself, verbatim.'),
    contents: texts('The text of each choice, verbatim.'),
    bytes: integer(
      { min: 0, max: 10_000_000_000 },
      'The text is this many bytes of ASCII, generated as fast as the client reads.',
    ),
    unicode: flag('Words of two, three and four bytes, combining marks, joined emoji, right-to-left script.'),
    reasoningWords: integer({ min: 0, max: 5_000_000 }, 'Words of the reasoning.'),
    deltaTokens: integer({ min: 1, max: 1_000_000_000 }, 'Tokens per chunk; default 1, 128 with `bytes`.'),
    deltaChars: integer({ min: 1, max: 1_000_000_000 }, 'Code points per chunk, instead of `deltaTokens`.'),
    refusal: choice(
      ['field', 'content-filter', 'both'],
      'Refuse: in `message.refusal` with `stop`; in the text with `content_filter`; or in the field with `content_filter`.',
    ),
    script: script(
      'Text and calls, verbatim. The first entry answers a user; each later one follows a round of tool results; the last one repeats. A user message directly after tool results does not restart the script.',
    ),
    callTools: texts('Call these tools of the request, whatever the message says. Names can repeat.'),
    toolPreamble: flag('Send text before tool calls.'),
    jsonSpaces: flag('Structured output and arguments contain white space between their parts.'),
    jsonDefect: choice(
      ['not-json', 'truncated', 'wrong-schema', 'fenced', 'empty'],
      'Break the structured output for `response_format`.',
    ),
    argumentsDefect: choice(['not-json', 'truncated', 'wrong-schema', 'empty'], 'Break the arguments of tool calls.'),
  },
  Reasoning: {
    reasoning: choice(
      ['default-on', 'default-off', 'always', 'never'],
      'When the model reasons. Default `default-on`: unless the request turns it off.',
    ),
    reasoningField: choice(
      [
        ...(['reasoning_content', 'reasoning', 'both', 'both-one-null'] as const),
        ...(['think', 'think-implicit', 'kimi', 'bracket', 'gemma', 'harmony'] as const),
      ],
      'Place of the reasoning: a field; both fields; both `content` and `reasoning_content`, the unused one null; or the text between tags. `think-implicit` has only the closing tag.',
    ),
    reasoningChunks: choice(
      ['separate', 'mixed', 'split-tags'],
      '`mixed`: the last reasoning shares a chunk with the first text. `split-tags`: inline tags come one character per chunk.',
    ),
  },
  'Continuing a partial answer': {
    continuation: choice(
      ['any', 'flag', 'prefix', 'partial', 'trailing', 'echo', 'refuse', 'ignore'],
      'The trailing assistant messages that the engine continues: with `continue_final_message`; with `prefix: true`; with `partial: true`; without a mark; the same, with a repetition first; none, with 400; none, with a new answer. Default `any`.',
    ),
    continuationQuirk: choice(
      ['misfiled', 'overlap', 'restarts-reasoning', 'restarts-text'],
      '`misfiled`: the text continues as reasoning. `overlap`: repeats the last words of the partial answer, at least three with at least twelve characters. `restarts-reasoning`: reasons again first. `restarts-text`: restarts the text, like a grammar.',
    ),
  },
  'How it ends': {
    finishReason: anything(
      'The `finish_reason` instead of the correct one, for example `"abort"`, `"unknown"` or `null`.',
    ),
    noFinish: flag('No chunk carries a finish reason; the stream then ends as usual.'),
    done: choice(
      ['normal', 'absent', 'unterminated'],
      '`absent`: no `[DONE]`. `unterminated`: `[DONE]` without the blank line.',
    ),
    roleChunk: choice(
      ['normal', 'absent', 'null-content', 'repeated'],
      'The chunk that carries the role; `repeated`: every chunk carries it.',
    ),
    emptyChunks: flag('An empty `content` delta after every other delta.'),
  },
  Usage: {
    usage: choice(
      [
        ...([
          'honest',
          'absent',
          'null',
          'zeros',
          'total-mismatch',
          'no-details',
          'null-details',
          'reasoning-excluded',
        ] as const),
        ...([
          'reasoning-top-level',
          'cached-top-level',
          'cache-hit-miss',
          'cached-above-prompt',
          'no-cached-when-zero',
        ] as const),
      ],
      'Shape of the usage block. `reasoning-excluded`: `completion_tokens` without reasoning, `total_tokens` with it (xAI). `reasoning-top-level` (SGLang), `cached-top-level` (Moonshot), `cache-hit-miss` (DeepSeek).',
    ),
    usageWhere: choice(
      ['asked', 'own-chunk', 'finish-chunk', 'every-chunk', 'choice', 'x_groq'],
      'Its place in a stream. `asked`: according to `stream_options`. `own-chunk`: in any case. `finish-chunk`: with the finish reason. `every-chunk`: running. `choice`: in `choices[0].usage` of the finish chunk. `x_groq`: on the finish chunk and in `x_groq.usage`.',
    ),
    continuousUsage: flag('Follow `continuous_usage_stats`. On by default.'),
    cachedTokens: integer({ min: 0, max: 2_000_000_000 }, 'Reported cached tokens, instead of the real number.'),
  },
  'Tool calls': {
    toolQuirk: choices(
      [
        ...([
          'index-missing',
          'index-all-zero',
          'index-from-one',
          'index-jumps',
          'index-restarts',
          'whole-call',
        ] as const),
        ...(['calls-in-one-chunk', 'arguments-object', 'arguments-null-first', 'arguments-empty-then-whole'] as const),
        ...(['id-missing', 'id-late', 'id-empty-on-continuation', 'head-repeated', 'name-split', 'name-late'] as const),
        ...(['name-null-on-continuation', 'type-missing', 'ids-duplicate', 'interleaved', 'trailing-empty'] as const),
        ...(['empty-content-first', 'finish-stop', 'finish-null', 'finish-with-last', 'rest-in-finish'] as const),
      ],
      'Defects of tool call fragments; several apply in their order.',
    ),
  },
  'Embeddings and rerank': {
    dimensions: integer({ min: 1, max: 65_536 }, 'Length of a vector; default 64.'),
    askedDimensions: choice(
      ['shorten', 'refuse', 'ignore'],
      "Effect of the request's `dimensions`. `shorten` (default): that many values, normalised again. `refuse`: vLLM's 400 for models without this training.",
    ),
    vectorForm: choice(
      ['asked', 'float', 'base64'],
      'Format of the vectors. `asked` (default): according to `encoding_format`. Otherwise this one in any case.',
    ),
    vectorDefect: choices(
      [
        ...(['null', 'one-null', 'nan', 'infinity', 'zero', 'one-zero', 'short', 'one-short'] as const),
        ...(['missing', 'extra', 'none', 'reversed', 'duplicate-index', 'index-absent', 'index-beyond'] as const),
      ],
      'Defects of vectors. `null`: null as every value; `one-…`: only in the last vector. `missing`, `extra`: one vector less, or one more. `reversed`: reverse order with correct `index`, which is valid. `duplicate-index`: the last vector repeats the first index. `index-absent`: no index.',
    ),
    pooling: choice(['mean', 'cls', 'last'], 'Source of a vector: all words (default), the first, or the last one.'),
    vectorModel: text('Vectors of another model under the same name: unrelated to all other vectors.'),
    vectorNoise: integer(
      { min: 0, max: 1000 },
      "Noise in thousandths of the vector's length, like quantisation noise.",
    ),
    vectorScale: integer({ min: 1, max: 1_000_000 }, 'Norm of a vector, instead of 1.'),
    maxInputs: integer({ min: 1, max: 1_000_000 }, 'Maximum number of inputs or documents in a request.'),
    tooManyInputs: choice(
      ['413', '422', '500'],
      "Status for too many. `413` (default) and `422` with TEI's text; `500` with a failing engine's text.",
    ),
    maxInputTokens: integer(
      { min: 1, max: 2_000_000_000 },
      "Physical batch in tokens; a longer input gets llama-server's 500.",
    ),
    scores: choice(
      ['unit', 'raw'],
      "Scores between 0 and 1, or raw ones. Default: between 0 and 1, and according to `raw_scores` in TEI's format.",
    ),
    rankDefect: choice(
      ['missing', 'extra', 'duplicate-index', 'index-beyond', 'null', 'nan', 'text', 'none', 'unsorted'],
      'Defects of ranks: one less, one more, a repeated index, an unknown index, a score that is null, NaN or a string, no results. `unsorted`: in document order, which is valid.',
    ),
  },
  Framing: {
    lineEnding: choice(['lf', 'crlf', 'cr'], 'Line ending of the event stream.'),
    dataSpace: flag('`false`: `data:` without the space.'),
    sseFields: flag('Events also carry `id:`, `event: message` and `retry:` lines.'),
    multilineData: flag('The JSON of each event spans several `data:` lines.'),
    chunkBytes: integer(
      { min: 1, max: 1_000_000_000 },
      'Write the body in pieces of this many bytes, each flushed separately, across event boundaries.',
    ),
    eventsPerWrite: integer({ min: 1, max: 1_000_000 }, 'Number of events in one write.'),
    gzip: flag('Compress the body, whatever the request accepts.'),
    contentType: text('The `content-type` of the answer.'),
    identify: flag('`false`: omit the headers and fields that identify the engine. On by default.'),
  },
  Scope: {
    on: texts('Only engines with these names follow the directives.'),
    times: integer(
      { min: 1, max: 1_000_000_000 },
      'Maximum number of affected requests: of the engine, or, in a message, of this conversation.',
    ),
    note: text('No effect: a test finds its request by this text.'),
  },
} as const;

const { Pace, Reasoning, Usage, Framing, Scope } = directiveGroups;

/** All directives by name. */
export const directives = {
  ...directiveGroups['Faults on the wire'],
  ...directiveGroups['Error replies'],
  ...Pace,
  ...directiveGroups['The answer'],
  ...Reasoning,
  ...directiveGroups['Continuing a partial answer'],
  ...directiveGroups['How it ends'],
  ...Usage,
  ...directiveGroups['Tool calls'],
  ...directiveGroups['Embeddings and rerank'],
  ...Framing,
  ...Scope,
};
