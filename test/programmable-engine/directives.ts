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
      'What breaks. `cut`: FIN without the end of the body. `reset`: RST. `stall`: silence, for ever or for `stallMs`. `truncate`: a chunk that promises more than comes, then FIN. `end`: a clean end of the body, too early. `error…`: an event `data: {"error": …}`, then a clean end, `[DONE]` or FIN. `malformed`: an extra line that is no JSON, after which the answer goes on (or is cut).',
    ),
    at: faultPosition,
    stallMs: integer(milliseconds, 'A `stall` ends after this long and the answer goes on.'),
    malformedLine: text('The line that `malformed` sends.'),
    errorJson: anything('The exact JSON of an error reply or error event, in place of `errorBody`.'),
  },
  'Error replies': {
    status: integer(
      { min: 200, max: 599 },
      'Reply with this status and `errorBody` instead of an answer. 200 hides an error in a good status.',
    ),
    errorBody: choice(
      ['engine', 'flat', 'detail', 'string', 'array', 'text', 'html', 'empty', 'not-json'],
      'Shape of the error. `engine`: `{error: {message, type, param, code}}`; `flat`: the same without `error` around it; `detail`: `{detail}`; `string`: `{error: "…"}`; `array`: `[{error}]`.',
    ),
    retryAfter: text('Value of a `Retry-After` header on the error reply.'),
    healthStatus: integer({ min: 200, max: 599 }, 'Status of `GET /health`.'),
    modelsStatus: integer({ min: 200, max: 599 }, 'Status of `GET …/models`.'),
    rejectFields: texts('A request that has one of these fields gets a 400 that names it.'),
    strict: flag(
      'Refuse what vLLM refuses: `tools: []`, `tool_choice` without tools, `stream_options` without a stream, `top_logprobs` without `logprobs`, `json_schema` without a schema. On unless told.',
    ),
    anyModel: flag('Serve every model name, not only those listed.'),
    contextLength: integer(
      { min: 1, max: 2_000_000_000 },
      "Context window in tokens; a request that exceeds it gets vLLM's 400.",
    ),
  },
  Pace: {
    headersDelayMs: integer(milliseconds, 'Wait before the response headers.'),
    firstTokenDelayMs: integer(
      milliseconds,
      'Wait between the headers and the first chunk, as an engine does for its prefill.',
    ),
    prefillTokensPerSecond: integer(
      { min: 1, max: 1_000_000_000 },
      'Wait before the first chunk, too, for each token of the prompt that was not cached.',
    ),
    tokenDelayMs: integer(
      milliseconds,
      'Wait before each later chunk. A JSON answer waits for the sum of all before its headers.',
    ),
    keepAliveMs: integer(
      { min: 1, max: 3_600_000 },
      'During any wait or stall after the headers, send a sign of life this often. Makes a JSON answer send its headers at once.',
    ),
    keepAlive: choice(
      ['comment', 'blank-line'],
      'The sign of life of a stream; a JSON answer always sends blank lines.',
    ),
  },
  'The answer': {
    words: integer({ min: 0, max: 5_000_000 }, 'Words of the text, the quote of the prompt included.'),
    content: text('The text itself, verbatim.'),
    contents: texts('The texts of the choices, verbatim and in turn.'),
    bytes: integer(
      { min: 0, max: 10_000_000_000 },
      'The text is this many bytes of ASCII, generated as fast as the client reads.',
    ),
    unicode: flag('Words of two, three and four bytes, combining marks, joined emoji, right-to-left script.'),
    reasoningWords: integer({ min: 0, max: 5_000_000 }, 'Words of the reasoning.'),
    deltaTokens: integer({ min: 1, max: 1_000_000_000 }, 'Tokens per chunk; 1 unless told, 128 with `bytes`.'),
    deltaChars: integer({ min: 1, max: 1_000_000_000 }, 'Code points per chunk, in place of `deltaTokens`.'),
    refusal: choice(
      ['field', 'content-filter', 'both'],
      'Refuse: in `message.refusal` with `stop`; in the text with `content_filter`; or in the field with `content_filter`.',
    ),
    script: script(
      'What is said and called, verbatim: the first entry in answer to a user, each later one after the tools have answered once more, the last one from then on. What a user says right behind the answers of tools begins nothing new.',
    ),
    callTools: texts('Call these tools of the request, whatever the message says; a name may be repeated.'),
    toolPreamble: flag('Say something before calling tools.'),
    jsonSpaces: flag('Structured output and arguments have white space between their parts.'),
    jsonDefect: choice(
      ['not-json', 'truncated', 'wrong-schema', 'fenced', 'empty'],
      'Break the structured output that `response_format` asked for.',
    ),
    argumentsDefect: choice(['not-json', 'truncated', 'wrong-schema', 'empty'], 'Break the arguments of tool calls.'),
  },
  Reasoning: {
    reasoning: choice(
      ['default-on', 'default-off', 'always', 'never'],
      'When the model reasons; `default-on` unless told: unless the request turns it off.',
    ),
    reasoningField: choice(
      [
        ...(['reasoning_content', 'reasoning', 'both', 'both-one-null'] as const),
        ...(['think', 'think-implicit', 'kimi', 'bracket', 'gemma', 'harmony'] as const),
      ],
      'Where it is reported: in a field; in both; with both `content` and `reasoning_content` present and the unused one null; or inside the text between tags. `think-implicit` has only the closing tag.',
    ),
    reasoningChunks: choice(
      ['separate', 'mixed', 'split-tags'],
      '`mixed`: the last reasoning shares a chunk with the first text. `split-tags`: inline tags come one character per chunk.',
    ),
  },
  'Continuing a partial answer': {
    continuation: choice(
      ['any', 'flag', 'prefix', 'partial', 'trailing', 'echo', 'refuse', 'ignore'],
      'Which trailing assistant message is continued: with `continue_final_message`; with `prefix: true`; with `partial: true`; without any mark; the same, repeating it first; none, with 400; none, with a fresh answer. `any` unless told.',
    ),
    continuationQuirk: choice(
      ['misfiled', 'overlap', 'restarts-reasoning', 'restarts-text'],
      '`misfiled`: the continuation of the text arrives as reasoning. `overlap`: the last words of the partial answer come again, at least three with at least twelve characters. `restarts-reasoning`: reasons anew first. `restarts-text`: the text begins anew, as where a grammar does.',
    ),
  },
  'How it ends': {
    finishReason: anything(
      'The `finish_reason` in place of the honest one, for example `"abort"`, `"unknown"` or `null`.',
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
      'Where a stream carries it. `asked`: as `stream_options` asks. `own-chunk`: asked or not. `finish-chunk`: with the finish reason. `every-chunk`: running. `choice`: in `choices[0].usage` of the finish chunk. `x_groq`: on the finish chunk and in `x_groq.usage`.',
    ),
    continuousUsage: flag('Honour `continuous_usage_stats`. On unless told.'),
    cachedTokens: integer(
      { min: 0, max: 2_000_000_000 },
      'Cached tokens reported, in place of those the engine has really seen before.',
    ),
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
      'How the fragments of tool calls are bent; several apply in the order given.',
    ),
  },
  'Embeddings and rerank': {
    dimensions: integer({ min: 1, max: 65_536 }, 'Length of a vector; 64 unless told.'),
    askedDimensions: choice(
      ['shorten', 'refuse', 'ignore'],
      "What the request's `dimensions` does. `shorten`, unless told: that many values, normalised anew. `refuse`: vLLM's 400 for models that were not trained for it.",
    ),
    vectorForm: choice(
      ['asked', 'float', 'base64'],
      'Form of the vectors. `asked`, unless told: as `encoding_format` says. Else this one, whatever was asked.',
    ),
    vectorDefect: choices(
      [
        ...(['null', 'one-null', 'nan', 'infinity', 'zero', 'one-zero', 'short', 'one-short'] as const),
        ...(['missing', 'extra', 'none', 'reversed', 'duplicate-index', 'index-absent', 'index-beyond'] as const),
      ],
      'What is wrong with vectors. `null`: null in every place of each; `one-…`: of the last one only. `missing`, `extra`: one vector less, or one more. `reversed`: in reverse order with the right `index`, which is no fault. `duplicate-index`: the last one has the index of the first. `index-absent`: none, in the order of the inputs.',
    ),
    pooling: choice(
      ['mean', 'cls', 'last'],
      'What a vector is made of: all words, unless told, the first, or the last one.',
    ),
    vectorModel: text('Vectors of another model under the same name: unrelated to those of any other text here.'),
    vectorNoise: integer(
      { min: 0, max: 1000 },
      "Noise in thousandths of the vector's length, as quantisation adds it.",
    ),
    vectorScale: integer({ min: 1, max: 1_000_000 }, 'Length of a vector, in place of 1.'),
    maxInputs: integer({ min: 1, max: 1_000_000 }, 'Inputs or documents of one request; more are refused.'),
    tooManyInputs: choice(
      ['413', '422', '500'],
      "Status for too many. `413`, unless told, and `422` with TEI's text; `500` with that of an engine that fails.",
    ),
    maxInputTokens: integer(
      { min: 1, max: 2_000_000_000 },
      "Physical batch in tokens; a longer input gets llama-server's 500.",
    ),
    scores: choice(
      ['unit', 'raw'],
      "Scores between 0 and 1, or raw ones. Unless told: between 0 and 1, and as `raw_scores` asks in TEI's form.",
    ),
    rankDefect: choice(
      ['missing', 'extra', 'duplicate-index', 'index-beyond', 'null', 'nan', 'text', 'none', 'unsorted'],
      'What is wrong with ranks: one less, one more, an index twice, one that no document has, a score that is null, NaN or a string, no results. `unsorted`: in the order of the documents, which is no fault.',
    ),
  },
  Framing: {
    lineEnding: choice(['lf', 'crlf', 'cr'], 'Line ending of the event stream.'),
    dataSpace: flag('`false`: `data:` without the space.'),
    sseFields: flag('Events also carry `id:`, `event: message` and `retry:` lines.'),
    multilineData: flag('The JSON of each event spans several `data:` lines.'),
    chunkBytes: integer(
      { min: 1, max: 1_000_000_000 },
      'The body is written in pieces of this many bytes, each flushed alone, across event borders.',
    ),
    eventsPerWrite: integer({ min: 1, max: 1_000_000 }, 'So many events are glued into one write.'),
    gzip: flag('The body is compressed, whatever the request accepts.'),
    contentType: text('The `content-type` of the answer.'),
    identify: flag('`false`: leave out the headers and fields that give the engine away. They are on unless told.'),
  },
  Scope: {
    on: texts('Only engines of these names obey; the others answer as if nothing had been said.'),
    times: integer(
      { min: 1, max: 1_000_000_000 },
      'Only so many requests are affected: of the engine when given to it, of this conversation when given in a message.',
    ),
    note: text('Does nothing: a test finds by it what became of its request.'),
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
