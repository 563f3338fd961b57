import type { AnswerEvent, Fault, FinishReason, Logprobs, TextEvent } from '../../../core/event.ts';
import { isObject, type JsonObject, textOf } from '../../../core/json.ts';
import type { InlineReasoning } from '../../../core/capability.ts';
import { readFinishReason } from './finish-reason.ts';
import { errorIn } from './find-error.ts';
import { readError } from './read-error.ts';
import { countOf, finishWordOf, objectsOf, unreadable } from './read-field.ts';
import { readMessage } from './read-message.ts';
import { mergeUsage, readUsage, usageFrom, usageOf, type UsageReport } from './read-usage.ts';
import { type AnswerState, createStateCollector, type EngineCall } from './opaque-fields.ts';
import { createToolRepair } from './repair-tools.ts';
import { createTagSplitter, type SortedText } from './split-tags.ts';

export interface ResponseOptions {
  /** Names of the tools that the caller offered. */
  readonly toolNames: ReadonlySet<string>;
  /** Makes our id of a tool call; `choice` and `tool` are its indices, `call` is what the engine has said of it. */
  readonly newToolId: (choice: number, tool: number, call?: EngineCall) => string;
  /** Seals the state of an answer for its caller. Absent: state is lost. */
  readonly sealState?: ((state: AnswerState) => string) | undefined;
  /** Number of choices that were asked for. An answer is complete when each choice has ended. */
  readonly choices: number;
  /** Whether token probabilities were asked for: they make an answer many times as large. */
  readonly logprobs?: boolean | undefined;
  /** The answer is held until it is complete, so that a stream of it has a maximum size, too. */
  readonly isHeld?: boolean | undefined;
  /** Tags to look for in the text. Absent for a route that reports its reasoning in a field, or has none. */
  readonly reasoning?: InlineReasoning | undefined;
  /** The engine continues an answer whose text had begun: only an opening tag at the very start begins reasoning anew. */
  readonly answerBegun?: boolean | undefined;
  /** Each delta of the engine stays an event, because a part of them was delivered before and will be removed. */
  readonly keepDeltas?: boolean | undefined;
}

/** A model's name as in the catalogs of engines. Any other text in its place is dropped, because it may be anything. */
const plainName = /^[\w.:/@-]{1,128}$/;

/** A model's name in an answer. Undefined: it has no plain one. */
export const plainModelName = (value: unknown): string | undefined =>
  typeof value === 'string' && plainName.test(value) ? value : undefined;

export function createAnswerReader(options: ResponseOptions) {
  const choices = new Map<number, ChoiceReader>();
  let report: UsageReport | undefined;
  let model: string | undefined;

  function readerOf(index: number): ChoiceReader | undefined {
    if (index < 0 || index >= options.choices) return undefined;
    const known = choices.get(index);
    if (known !== undefined) return known;
    const reader = createChoiceReader(index, options);
    choices.set(index, reader);
    return reader;
  }

  function readChoices(value: unknown, events: AnswerEvent[]): Fault | undefined {
    const list = objectsOf(value);
    if (list === unreadable) return unreadableField('choices');
    for (const [at, choice] of list.entries()) {
      const fault = readerOf(countOf(choice['index']) ?? at)?.push(choice, events);
      if (fault !== undefined) return fault;
    }
    return undefined;
  }

  function takeUsage(newer: UsageReport | undefined, events: AnswerEvent[]): void {
    if (newer === undefined) return;
    report = mergeUsage(report, newer);
    const usage = usageFrom(report);
    if (usage !== undefined) appendUsage(events, { type: 'usage', usage }, options);
  }

  return {
    /** The model's name in the answer. Undefined: the answer has no name, or no plain one. */
    model: (): string | undefined => model,
    /** Whether every choice has ended. */
    finished: (): boolean =>
      choices.size >= options.choices && [...choices.values()].every((reader) => reader.finished()),
    /** The engine has declared its answer complete. */
    close: (events: AnswerEvent[]): void => {
      for (const reader of choices.values()) reader.close(events);
    },
    /**
     * Reads a piece of a choice's text whose chunk was not parsed. The event's type is that of the field in which the engine sent the
     * text.
     */
    text: (event: TextEvent, events: AnswerEvent[]): void => readerOf(event.choice)?.text(event, events),
    /** Reads a usage block whose chunk was not parsed. */
    usage: (block: unknown, events: AnswerEvent[]): void => takeUsage(readUsage(block), events),
    push: (answer: unknown, events: AnswerEvent[]): Fault | undefined => {
      const error = errorInside(answer);
      if (error !== undefined) return error;
      if (!isObject(answer)) return { kind: 'malformed', detail: 'answer is not an object' };
      model ??= plainModelName(answer['model']);
      const fault = readChoices(answer['choices'], events);
      if (fault === undefined) takeUsage(usageOf(answer), events);
      return fault;
    },
  };
}

/**
 * Returns an engine's error in an answer with status 200. The error is never relayed. Its text is not kept, because it may quote
 * the prompt.
 */
export function errorInside(answer: unknown): Fault | undefined {
  const error = errorIn(answer);
  return error === undefined ? undefined : { kind: 'engine-error', detail: 'error in a 200', ...readError(error) };
}

/** A field whose value means nothing to us. To pass over it would be to leave out a part of the answer. */
const unreadableField = (name: string): Fault => ({ kind: 'malformed', detail: `${name} of an unknown type` });

/** Reads one choice of an answer, delta by delta or as a whole message: the fields are the same. */
type ChoiceReader = ReturnType<typeof createChoiceReader>;

/** The text of a choice, sorted into answer and reasoning by the tags that an engine leaves in it. */
function createTextSorter(index: number, options: ResponseOptions) {
  const { reasoning, answerBegun } = options;
  const tags = reasoning === undefined ? undefined : createTagSplitter(reasoning, { answerBegun });

  function append(sorted: readonly SortedText[] | undefined, events: AnswerEvent[]): void {
    for (const { type, text, deltas } of sorted ?? [])
      appendText(events, { type, choice: index, text, deltas }, options);
  }

  function read({ type, text, deltas }: TextEvent, events: AnswerEvent[]): void {
    if (type === 'reasoning-delta') append(tags?.stop(), events);
    if (type === 'text-delta' && tags !== undefined) append(tags.push(text, deltas), events);
    else appendText(events, { type, choice: index, text, deltas }, options);
  }

  /** Reads text with its token probabilities. They are also kept for text that is held back or turns out to be reasoning. */
  function readWithLogprobs(
    text: string,
    { tokens, deltas }: { readonly tokens: Tokens; readonly deltas: 0 | 1 },
    events: AnswerEvent[],
  ): void {
    const before = events.length;
    if (text !== '') read({ type: 'text-delta', choice: index, text, deltas: 1 }, events);
    if (tokens === undefined) return;
    const logprobs: Logprobs = { content: tokens };
    const at = events.findIndex(({ type }, place) => place >= before && type === 'text-delta');
    const event = events[at];
    if (event?.type === 'text-delta') events[at] = { ...event, logprobs };
    else events.push({ type: 'text-delta', choice: index, text: '', deltas, logprobs });
  }

  return {
    read,
    readWithLogprobs,
    /** Passes on what may have been the beginning of a tag. */
    flush: (events: AnswerEvent[]): void => append(tags?.flush(), events),
  };
}

function createChoiceReader(index: number, options: ResponseOptions) {
  const tools = createToolRepair({
    choice: index,
    toolNames: options.toolNames,
    newId: (tool, call) => options.newToolId(index, tool, call),
  });
  const state = createStateCollector();
  const texts = createTextSorter(index, options);
  let finished = false;
  let refused = false;
  /** Whether the engine has sent a message, be it empty. */
  let hasMessage = false;

  function readDelta(choice: JsonObject, events: AnswerEvent[]): Fault | undefined {
    const message = readMessage(choice);
    if (typeof message === 'string') return unreadableField(message);
    if (message === undefined) return undefined;
    hasMessage = true;
    const logprobs = logprobsOf(choice['logprobs']);
    const { reasoning, text, refusal, fragments, source, whole } = message;
    for (const one of reasoning) texts.read({ type: 'reasoning-delta', choice: index, text: one, deltas: 1 }, events);
    // A token that is half a character has no text yet, and still counts. A token of reasoning, of a refusal or of a tool call is
    // counted elsewhere.
    const deltas = reasoning.length === 0 && refusal === '' && fragments.length === 0 ? 1 : 0;
    texts.readWithLogprobs(text, { tokens: logprobs.content, deltas }, events);
    const isRefusing = refusal !== '' || logprobs.refusal !== undefined;
    if (isRefusing || fragments.length > 0) texts.flush(events);
    if (isRefusing) {
      refused = true;
      const tokens = logprobs.refusal === undefined ? undefined : { refusal: logprobs.refusal };
      events.push({ type: 'refusal-delta', choice: index, text: refusal, deltas: 1, logprobs: tokens });
    }
    events.push(...tools.push(fragments, source));
    state.take(whole);
    return undefined;
  }

  function finishWith(reason: FinishReason, stopSequence?: string): AnswerEvent {
    const sealedState = sealedStateOf({ fields: state.fields(), calls: tools.lateCalls() }, options);
    return { type: 'finish', choice: index, reason, stopSequence, sealedState };
  }

  return {
    finished: (): boolean => finished,
    text: (event: TextEvent, events: AnswerEvent[]): void => {
      if (!finished) texts.read(event, events);
    },
    /**
     * Called when the engine has declared its answer complete. Ends a choice with complete tool calls whose `finish_reason` the
     * engine has left out.
     */
    close: (events: AnswerEvent[]): void => {
      const closing = finished || !tools.areComplete() ? undefined : tools.end();
      if (closing === undefined) return;
      texts.flush(events);
      events.push(...closing, finishWith('tool_calls'));
      finished = true;
    },
    push: (choice: JsonObject, events: AnswerEvent[]): Fault | undefined => {
      // Whatever an engine sends after the end of a choice would contradict the end that the caller has received.
      if (finished) return undefined;
      const fault = readDelta(choice, events);
      const raw = finishWordOf(choice['finish_reason']);
      if (fault !== undefined || raw === undefined) return fault;
      if (raw === unreadable) return unreadableField('finish_reason');
      const reason = readFinishReason(raw, { calledTools: tools.calledTools(), refused });
      if (reason === 'fault') return { kind: 'engine-error', detail: 'finish_reason of a fault' };
      if (reason === 'stop' && !hasMessage) return { kind: 'malformed', detail: 'stopped without a message' };
      const closing = tools.end();
      if (closing === undefined) return { kind: 'malformed', detail: 'tool call without a name' };
      texts.flush(events);
      const stopSequence = reason === 'stop' ? stopSequenceOf(choice) : undefined;
      events.push(...closing, finishWith(reason, stopSequence));
      finished = true;
      return undefined;
    },
  };
}

/** Seals what the engine wants back. A continued answer has two engines, and neither's state is whole. */
function sealedStateOf(state: AnswerState, { answerBegun, sealState }: ResponseOptions): string | undefined {
  const isEmpty = state.fields === undefined && Object.keys(state.calls).length === 0;
  return isEmpty || answerBegun === true ? undefined : sealState?.(state);
}

type Tokens = readonly unknown[] | undefined;

/** Token probabilities of a delta: those of its text and those of its refusal. */
function logprobsOf(value: unknown): { readonly content: Tokens; readonly refusal: Tokens } {
  const list = (tokens: unknown): Tokens => (Array.isArray(tokens) && tokens.length > 0 ? tokens : undefined);
  return isObject(value)
    ? { content: list(value['content']), refusal: list(value['refusal']) }
    : { content: undefined, refusal: undefined };
}

/**
 * Returns the text at which a choice stopped, from the field of vLLM or SGLang. The field has a token's id if the choice stopped at
 * a token without text.
 */
const stopSequenceOf = (choice: JsonObject): string | undefined =>
  textOf(choice['stop_reason']) ?? textOf(choice['matched_stop']);

/** Adds a piece of text. Consecutive pieces of the same text become one event, unless deltas are kept. */
function appendText(events: AnswerEvent[], event: TextEvent, { keepDeltas }: ResponseOptions): void {
  const merged = keepDeltas === true ? undefined : mergeText(events.at(-1), event);
  if (merged === undefined) events.push(event);
  else events[events.length - 1] = merged;
}

/**
 * Adds running totals. They replace older totals, and the texts before and after the older totals become one event. So an engine
 * that counts in every chunk causes no extra events.
 */
function appendUsage(
  events: AnswerEvent[],
  event: AnswerEvent & { readonly type: 'usage' },
  { keepDeltas }: ResponseOptions,
): void {
  const last = events.at(-1);
  if (last?.type === 'usage') {
    events[events.length - 1] = event;
    return;
  }
  const older = events.at(-2);
  const isMergeable = keepDeltas !== true && older?.type === 'usage';
  const text = last !== undefined && 'deltas' in last && isMergeable ? last : undefined;
  const merged = text === undefined ? undefined : mergeText(events.at(-3), text);
  if (merged === undefined) events.push(event);
  else events.splice(-3, 3, merged, event);
}

function mergeText(earlier: AnswerEvent | undefined, later: TextEvent): TextEvent | undefined {
  if (earlier?.type !== later.type || !('deltas' in earlier) || earlier.choice !== later.choice) return undefined;
  if (earlier.logprobs !== undefined || later.logprobs !== undefined) return undefined;
  const { type, choice } = later;
  return { type, choice, text: earlier.text + later.text, deltas: earlier.deltas + later.deltas };
}
