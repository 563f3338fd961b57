import { countOf, isObject, type JsonObject, parseJson, textOf } from '../../core/json.ts';
import type { AnswerHead } from './picker.ts';
import { mergeUsage, type UsageReport, usageOf } from '../../gateway/dialects/engine/read-usage.ts';
import { createSseDecoder, eventStreamType } from '../../gateway/dialects/sse.ts';

/** Reads of an answer only what shows how its engine works: when output begins, and the counts of tokens. */
export interface AnswerReader {
  /** Returns whether there was output, now or before. */
  readonly push: (piece: Uint8Array) => boolean;
  readonly end: () => AnswerCounts;
}

export interface AnswerCounts {
  readonly outputTokens: number | undefined;
  /** The engine's count of the prompt, and of its part that was in the cache. Undefined: the engine did not report them. */
  readonly prompt: { readonly tokens: number; readonly cachedTokens: number } | undefined;
}

/** A longer answer that does not stream is not read: parsing it would take milliseconds. */
const maxJsonBytes = 256 * 1024;

const nothing: AnswerCounts = { outputTokens: undefined, prompt: undefined };

export function createAnswerReader({ header }: Pick<AnswerHead, 'header'>): AnswerReader {
  const encoding = header('content-encoding') ?? 'identity';
  const type = header('content-type') ?? '';
  if (encoding !== 'identity') return unreadable();
  if (type.startsWith(eventStreamType)) return readStream();
  return type.startsWith('application/json') ? readWhole() : unreadable();
}

/** Any byte counts as output. */
const unreadable = (): AnswerReader => ({ push: ({ length }) => length > 0, end: () => nothing });

/** An event that may have counts. Others are not parsed once there is output. */
const withCounts = /"(?:usage|timings)"\s*:\s*\{/;

function readStream(): AnswerReader {
  let usage: UsageReport | undefined;
  /** Engines send an event for each token. */
  let outputEvents = 0;
  let isReadable = true;
  const decoder = createSseDecoder({
    payload: (data) => {
      if (outputEvents > 0 && !withCounts.test(data)) {
        outputEvents += 1;
        return;
      }
      const event = parseJson(data);
      if (!isObject(event)) return;
      if (hasOutput(event)) outputEvents += 1;
      const counts = countsIn(event);
      if (counts !== undefined) usage = mergeUsage(usage, counts);
    },
  });
  return {
    push: (piece) => {
      try {
        if (isReadable) decoder.push(piece);
      } catch {
        // One event is too long to be an engine's.
        isReadable = false;
      }
      return outputEvents > 0 || !isReadable;
    },
    end: () => (isReadable ? countedBy(usage, outputEvents === 0 ? undefined : outputEvents) : nothing),
  };
}

function readWhole(): AnswerReader {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  return {
    push: (piece) => {
      bytes += piece.length;
      // The pieces are views of what the socket has read.
      if (bytes <= maxJsonBytes) pieces.push(Uint8Array.from(piece));
      else pieces.length = 0;
      return bytes > 0;
    },
    end: () => {
      if (bytes > maxJsonBytes) return nothing;
      const answer = parseJson(Buffer.concat(pieces).toString());
      return isObject(answer) ? countedBy(countsIn(answer), undefined) : nothing;
    },
  };
}

function countedBy(usage: UsageReport | undefined, events: number | undefined): AnswerCounts {
  const { promptTokens, cachedTokens, completionTokens = events } = usage ?? {};
  const prompt =
    promptTokens === undefined || cachedTokens === undefined || promptTokens <= 0
      ? undefined
      : { tokens: promptTokens, cachedTokens: Math.min(promptTokens, cachedTokens) };
  return { outputTokens: completionTokens, prompt };
}

/** Whether an event of any of the formats brings text, reasoning, or a part of a tool call. */
function hasOutput(event: JsonObject): boolean {
  // Events of messages, and of responses: `content_block_delta`, `response.output_text.delta`.
  if (textOf(event['type'])?.endsWith('delta') === true) return true;
  const { choices } = event;
  return Array.isArray(choices) && choices.some((choice: unknown) => isObject(choice) && hasText(choice));
}

function hasText({ delta, text }: JsonObject): boolean {
  if (textOf(text) !== undefined) return true;
  if (!isObject(delta)) return false;
  const texts = [delta['content'], delta['reasoning_content'], delta['reasoning']];
  return texts.some((one) => textOf(one) !== undefined) || Array.isArray(delta['tool_calls']);
}

/** The counts of an answer or an event, in the fields of chat and completions, or in those of messages. */
function countsIn(answer: JsonObject): UsageReport | undefined {
  const inner = answer['message'];
  return (
    usageOf(answer) ?? messagesUsage(answer['usage']) ?? (isObject(inner) ? messagesUsage(inner['usage']) : undefined)
  );
}

/** https://platform.claude.com/docs/en/api/messages: `input_tokens` leaves out the tokens that were read from a cache or written to it. */
function messagesUsage(usage: unknown): UsageReport | undefined {
  if (!isObject(usage)) return undefined;
  const input = countOf(usage['input_tokens']);
  const cachedTokens = countOf(usage['cache_read_input_tokens']);
  const written = countOf(usage['cache_creation_input_tokens']) ?? 0;
  const promptTokens = input === undefined ? undefined : input + (cachedTokens ?? 0) + written;
  return { promptTokens, cachedTokens, completionTokens: countOf(usage['output_tokens']) };
}
