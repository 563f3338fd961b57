import type { AnswerEvent, Fault, ReadStep, ResponseReader, TextEvent } from '../../core/event.ts';
import { createJsonBounds, type JsonLimits } from '../json-bounds.ts';
import { isObject, type JsonObject, parseJson, textOf } from '../json.ts';
import { createSseDecoder } from '../sse.ts';
import { type DeltaTemplate, learnTemplate } from './delta-template.ts';
import { createAnswerReader, errorInside } from './read-answer.ts';
import type { ReadOptions } from './read-choice.ts';

const isAbsent = (value: unknown): boolean => value === undefined || value === null;

const saysNothing = (value: unknown): boolean => !isObject(value) && !(Array.isArray(value) && value.length > 0);

/**
 * The one piece of text a chunk brings, as the engine sent it, when the chunk says nothing else but perhaps its running
 * usage. Undefined for every other chunk.
 */
function soleText(chunk: JsonObject): TextEvent | undefined {
  const { choices } = chunk;
  if (!isAbsent(chunk['error']) || chunk['object'] === 'error') return undefined;
  if (!isAbsent(chunk['timings']) || !isAbsent(chunk['x_groq'])) return undefined;
  const choice: unknown = Array.isArray(choices) && choices.length === 1 ? choices[0] : undefined;
  if (!isObject(choice) || !isObject(choice['delta']) || !Number.isInteger(choice['index'])) return undefined;
  if (textOf(choice['finish_reason']) !== undefined || !isAbsent(choice['logprobs']) || !isAbsent(choice['usage'])) {
    return undefined;
  }
  const { delta } = choice;
  if (textOf(delta['refusal']) !== undefined || !saysNothing(delta['tool_calls'])) return undefined;
  if (isObject(delta['function_call'])) return undefined;
  const text = textOf(delta['content']);
  const reasoning = textOf(delta['reasoning_content']) ?? textOf(delta['reasoning']);
  const sole = text === undefined ? reasoning : reasoning === undefined ? text : undefined;
  if (sole === undefined) return undefined;
  const type = text === undefined ? 'reasoning-delta' : 'text-delta';
  return { type, choice: Number(choice['index']), text: sole, deltas: 1 };
}

/** Largest JSON answer we hold, bytes: parsing its text takes the event loop 30 ms. */
const maxAnswerBytes = 8 * 1024 * 1024;
/** One with the probabilities of its tokens, of which each may be 2 kB. */
const maxAnswerBytesWithLogprobs = 64 * 1024 * 1024;

/** What an engine's JSON may hold: of an answer, or of one large chunk. */
const plainLimits: JsonLimits = { maxDepth: 128, maxValues: 50_000 };
/** Twenty probabilities of a token are two hundred values. Who asks for them may have those of ten thousand tokens. */
const logprobsLimits: JsonLimits = { maxDepth: 128, maxValues: 2_000_000 };
/** A shorter chunk cannot hold enough to do harm. */
const harmlessLength = 64 * 1024;

/** Malformed lines of one stream after which it is not sound, whatever follows. */
const maxMalformed = 64;

/** Chunks in a row that may fail to fit a template before we stop learning new ones. */
const maxMisses = 8;

const tooMuch: Fault = { kind: 'too-large', detail: 'answer over the limit' };

const truncated: Fault = { kind: 'truncated', detail: 'ended without a finish_reason' };

/**
 * Reads a streamed chat completion (docs/reference/engines.md §1). One malformed line alone does not end an attempt: what follows
 * tells whether the stream is sound.
 */
export function createStreamReader(options: ReadOptions): ResponseReader {
  const answer = createAnswerReader(options);
  let template: DeltaTemplate | undefined;
  let misses = 0;
  let malformed = 0;
  let state: ReadStep['state'] = 'open';
  let events: AnswerEvent[] = [];

  function readChunk(payload: string): void {
    if (payload.length > harmlessLength && !createJsonBounds(plainLimits).push(payload)) {
      state = tooMuch;
      return;
    }
    const chunk = parseJson(payload);
    if (!isObject(chunk)) {
      malformed += 1;
      const unsound: Fault | undefined =
        malformed > maxMalformed ? { kind: 'malformed', detail: 'many lines that are no chunks' } : undefined;
      state = errorInside(chunk) ?? unsound ?? state;
      return;
    }
    state = answer.push(chunk, events) ?? state;
    const text = soleText(chunk);
    if (text === undefined || misses >= maxMisses || payload.length > harmlessLength) return;
    template = learnTemplate(payload, text);
    misses += 1;
  }

  function takeRun(text: string, deltas: number, usage: string | undefined): void {
    if (template === undefined) return;
    misses = 0;
    const { type, choice } = template;
    if (text !== '') answer.text({ type, choice, text, deltas }, events);
    if (usage !== undefined) answer.usage(parseJson(usage), events);
  }

  const sse = createSseDecoder({
    run: (input, at) => (template === undefined || state !== 'open' ? at : template.run(input, at, takeRun)),
    payload: (payload) => {
      if (state !== 'open') return;
      if (payload !== '[DONE]') readChunk(payload);
      else {
        answer.close(events);
        state = answer.finished() ? 'complete' : truncated;
      }
    },
  });

  /** Decodes, and gives the events that came of it. */
  function step(decode: () => void): ReadStep {
    events = [];
    try {
      decode();
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      state = { kind: 'too-large', detail: 'event over the limit' };
    }
    return { events, state };
  }

  return {
    push: (bytes) => step(() => sse.push(bytes)),
    end: () => {
      const last = step(sse.end);
      return last.state === 'open' ? { ...last, state: answer.finished() ? 'complete' : truncated } : last;
    },
  };
}

/** The error of an answer that is one `data:` line. */
function errorEvent(text: string): unknown {
  const [, data = ''] = /^\s*data:(.*)/.exec(text) ?? [];
  const value = parseJson(data);
  return errorInside(value) === undefined ? undefined : value;
}

/** Reads a chat completion that comes as one JSON object. Nothing is known before its last byte. */
export function createJsonReader(options: ReadOptions): ResponseReader {
  const decoder = new TextDecoder();
  const answer = createAnswerReader(options);
  const { logprobs = false } = options;
  const bounds = createJsonBounds(logprobs ? logprobsLimits : plainLimits);
  const maxBytes = logprobs ? maxAnswerBytesWithLogprobs : maxAnswerBytes;
  let text = '';
  let bytesSeen = 0;
  /** So much of the text has been looked at; nothing while it is too short to be of harm. */
  let looked = 0;

  function isWithinBounds(): boolean {
    if (bytesSeen > maxBytes) return false;
    if (text.length <= harmlessLength) return true;
    const from = looked;
    looked = text.length;
    return bounds.push(text.slice(from));
  }

  return {
    push: (bytes) => {
      bytesSeen += bytes.length;
      text += decoder.decode(bytes, { stream: true });
      if (!isWithinBounds()) return { events: [], state: tooMuch };
      return { events: [], state: 'open' };
    },
    end: () => {
      const events: AnswerEvent[] = [];
      text += decoder.decode();
      // Some send an error as a stream would, whatever they say it is.
      const whole = parseJson(text);
      const parsed = whole === undefined ? errorEvent(text) : whole;
      if (parsed === undefined) return { events, state: { kind: 'malformed', detail: 'answer is not JSON' } };
      const fault = answer.push(parsed, events);
      if (fault === undefined) answer.close(events);
      const state = fault ?? (answer.finished() ? 'complete' : truncated);
      // Output commits an attempt: a part of an answer that failed must not keep the next route from being tried.
      return { events: state === 'complete' ? events : [], state };
    },
  };
}
