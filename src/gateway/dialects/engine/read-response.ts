import type { AnswerEvent, Fault, ReadStep, ResponseReader } from '../../../core/event.ts';
import { createJsonScan, type JsonLimits } from '../../../core/json-scan.ts';
import { isObject, parseJson } from '../../../core/json.ts';
import { keptNames, parseKeepingText } from '../../../core/json-text.ts';
import { createSseDecoder, eventStreamType } from '../sse.ts';
import { type DeltaTemplate, learnTemplate, soleText } from './delta-template.ts';
import { meansFault } from './finish-reason.ts';
import { createAnswerReader, errorInside, type ResponseOptions } from './read-answer.ts';
import { readError } from './read-error.ts';
import { isJsonType } from './read-field.ts';

/** Returns the reader for an engine's content type, or undefined for a type that cannot hold a chat completion. */
export function readResponseAs(contentType: string, options: ResponseOptions): ResponseReader | undefined {
  const [type = ''] = contentType.toLowerCase().split(';');
  if (type.trim() === eventStreamType) return createStreamReader(options);
  return isJsonType(type) ? createJsonReader(options) : undefined;
}

/** Largest JSON answer, bytes: parsing it blocks the event loop for 30 ms. */
const maxAnswerBytes = 8 * 1024 * 1024;
/** Largest JSON answer with token probabilities, of which each may take 2 kB. */
const maxAnswerBytesWithLogprobs = 64 * 1024 * 1024;

/** Limits of a JSON answer, or of one large chunk. */
const plainLimits: JsonLimits = { maxDepth: 128, maxValues: 50_000 };
/** Twenty probabilities of a token are two hundred values: this is enough for ten thousand tokens. */
const logprobsLimits: JsonLimits = { maxDepth: 128, maxValues: 2_000_000 };
/** A text of up to this length cannot hold enough values to do harm. */
const harmlessLength = 64 * 1024;

/** Most malformed lines of a stream before it fails, whatever follows. */
const maxMalformed = 64;

/** After so many chunks in a row that do not match the template, no more templates are learned. */
const maxMisses = 8;

/** Largest stream of an answer that is held until it is complete, bytes. A token takes some 250 bytes on a stream. */
const maxHeldBytes = 64 * 1024 * 1024;

/** Some engines send the arguments of calls as objects. Callers get the text of these. */
const passedOn = keptNames('arguments');

/** Parses an answer or a chunk. Undefined: it is not JSON. */
function parseChunk(text: string): unknown {
  try {
    return parseKeepingText(text, passedOn);
  } catch {
    return undefined;
  }
}

const tooLarge: Fault = { kind: 'too-large', detail: 'answer over the limit' };

const truncated: Fault = { kind: 'truncated', detail: 'ended without a finish_reason' };

/**
 * Reads a streamed chat completion (docs/reference/engines.md §1). A few malformed lines do not end an attempt, as long as the
 * stream comes to a proper end.
 */
export function createStreamReader(options: ResponseOptions): ResponseReader {
  const answer = createAnswerReader(options);
  let template: DeltaTemplate | undefined;
  // A run of chunks that a template reads is one event.
  let misses = options.keepDeltas === true ? maxMisses : 0;
  let malformed = 0;
  let bytesSeen = 0;
  let state: ReadStep['state'] = 'open';
  let events: AnswerEvent[] = [];

  function readChunk(payload: string, name: string): void {
    if (payload.length > harmlessLength && !createJsonScan(plainLimits).push(payload)) {
      state = tooLarge;
      return;
    }
    const chunk = parseChunk(payload);
    // The name says more than the data, which may be a sentence.
    if (name !== '' && meansFault(name)) {
      state = { kind: 'engine-error', detail: 'error event', ...readError(chunk ?? payload) };
      return;
    }
    if (!isObject(chunk)) {
      malformed += 1;
      const tooManyMalformed: Fault | undefined =
        malformed > maxMalformed ? { kind: 'malformed', detail: 'many lines that are not chunks' } : undefined;
      state = errorInside(chunk) ?? tooManyMalformed ?? state;
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
    payload: (payload, name) => {
      if (state !== 'open') return;
      if (!/^\s*\[done\]\s*$/i.test(payload)) readChunk(payload, name);
      else {
        answer.close(events);
        state = answer.finished() ? 'complete' : truncated;
      }
    },
  });

  /** Runs a step of the decoder and returns the events that it produced. */
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
    push: (bytes) => {
      bytesSeen += bytes.length;
      if (options.isHeld === true && bytesSeen > maxHeldBytes) state = tooLarge;
      return step(() => sse.push(bytes));
    },
    end: () => {
      const last = step(sse.end);
      return last.state === 'open' ? { ...last, state: answer.finished() ? 'complete' : truncated } : last;
    },
    model: answer.model,
  };
}

/** The error in an answer that is a single `data:` line. */
function errorEvent(text: string): unknown {
  const [, data = ''] = /^\s*data:(.*)/.exec(text) ?? [];
  const value = parseJson(data);
  return errorInside(value) === undefined ? undefined : value;
}

/** Reads a chat completion that comes as one JSON object. All of its events come at its end. */
export function createJsonReader(options: ResponseOptions): ResponseReader {
  const decoder = new TextDecoder();
  const answer = createAnswerReader(options);
  const { logprobs = false } = options;
  const scan = createJsonScan(logprobs ? logprobsLimits : plainLimits);
  const maxBytes = logprobs ? maxAnswerBytesWithLogprobs : maxAnswerBytes;
  let text = '';
  let bytesSeen = 0;
  /** Characters that were scanned. A short text is not scanned, since it cannot do harm. */
  let scanned = 0;

  function isWithinLimits(): boolean {
    if (bytesSeen > maxBytes) return false;
    if (text.length <= harmlessLength) return true;
    const from = scanned;
    scanned = text.length;
    return scan.push(text.slice(from));
  }

  return {
    push: (bytes) => {
      bytesSeen += bytes.length;
      text += decoder.decode(bytes, { stream: true });
      return { events: [], state: isWithinLimits() ? 'open' : tooLarge };
    },
    end: () => {
      const events: AnswerEvent[] = [];
      text += decoder.decode();
      // Some engines send an error in the format of a stream, under the content type of JSON.
      const whole = parseChunk(text);
      const parsed = whole === undefined ? errorEvent(text) : whole;
      if (parsed === undefined) return { events, state: { kind: 'malformed', detail: 'answer is not JSON' } };
      const fault = answer.push(parsed, events);
      if (fault === undefined) answer.close(events);
      const state = fault ?? (answer.finished() ? 'complete' : truncated);
      // Output commits an attempt: part of a failed answer would keep the next route from being tried.
      return { events: state === 'complete' ? events : [], state };
    },
    model: answer.model,
  };
}
