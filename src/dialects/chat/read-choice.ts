import type { AnswerEvent, Fault, Logprobs, TextEvent } from '../../core/event.ts';
import type { InlineReasoning } from '../../core/capability.ts';
import { isObject, type JsonObject, textOf } from '../json.ts';
import { appendText } from './append-events.ts';
import { readFinishReason } from './finish-reason.ts';
import { createToolRepair } from './repair-tools.ts';
import { createTagSplitter, type SortedText } from './split-tags.ts';

export interface ReadOptions {
  /** Names of the tools the caller offered. */
  readonly toolNames: ReadonlySet<string>;
  /** Makes our id of a tool call; `choice` and `tool` are its indices. */
  readonly newToolId: (choice: number, tool: number) => string;
  /** Choices asked for: an answer is whole when each has ended. */
  readonly choices: number;
  /** Whether the probabilities of tokens were asked for: an answer with them is many times as large. */
  readonly logprobs?: boolean;
  /** Tags to look for in the text; absent for a route that reports its reasoning in a field, or has none. */
  readonly reasoning?: InlineReasoning;
  /**
   * The engine continues an answer whose text had begun: no closing tag comes, and only an opening one, first of all, begins
   * reasoning anew.
   */
  readonly answerBegun?: boolean;
}

/** Reads one choice of an answer, delta by delta or as a whole message: the fields are the same. */
export interface ChoiceReader {
  readonly push: (choice: JsonObject, events: AnswerEvent[]) => Fault | undefined;
  /** Takes a piece of the text as the engine filed it, without the chunk around it. */
  readonly text: (event: TextEvent, events: AnswerEvent[]) => void;
  readonly finished: () => boolean;
  /** The engine says that the answer is whole: ends a choice with whole calls and no finish_reason, as some leave it. */
  readonly close: (events: AnswerEvent[]) => void;
}

type Tokens = readonly unknown[] | undefined;

/** Token probabilities of a delta: those of its text and those of its refusal. */
function logprobsOf(value: unknown): { readonly content: Tokens; readonly refusal: Tokens } {
  const list = (tokens: unknown): Tokens => (Array.isArray(tokens) && tokens.length > 0 ? tokens : undefined);
  return isObject(value)
    ? { content: list(value['content']), refusal: list(value['refusal']) }
    : { content: undefined, refusal: undefined };
}

const carrying = (name: keyof Logprobs, tokens: Tokens): { readonly logprobs?: Logprobs } =>
  tokens === undefined ? {} : { logprobs: { [name]: tokens } };

/** The text that a choice stopped at: vLLM's field and SGLang's, which hold a token's id where it was none. */
const stopSequenceOf = (choice: JsonObject): string | undefined =>
  textOf(choice['stop_reason']) ?? textOf(choice['matched_stop']);

/** Older engines send one call in a field of its own. */
function fragmentsOf(delta: JsonObject): readonly unknown[] {
  if (Array.isArray(delta['tool_calls'])) return delta['tool_calls'];
  return isObject(delta['function_call']) ? [{ index: 0, function: delta['function_call'] }] : [];
}

export function createChoiceReader(index: number, options: ReadOptions): ChoiceReader {
  const { answerBegun = false } = options;
  const tools = createToolRepair({
    choice: index,
    toolNames: options.toolNames,
    newId: (tool) => options.newToolId(index, tool),
  });
  const tags = options.reasoning === undefined ? undefined : createTagSplitter(options.reasoning, { answerBegun });
  let finished = false;
  let refused = false;

  function give(sorted: readonly SortedText[] | undefined, events: AnswerEvent[]): void {
    for (const { type, text, deltas } of sorted ?? []) appendText(events, { type, choice: index, text, deltas });
  }

  function readText({ type, text, deltas }: TextEvent, events: AnswerEvent[]): void {
    if (type === 'reasoning-delta') give(tags?.stop(), events);
    if (type === 'text-delta' && tags !== undefined) give(tags.push(text, deltas), events);
    else appendText(events, { type, choice: index, text, deltas });
  }

  /** Text with the probabilities of its tokens. Those of what is held back, or filed elsewhere, count too. */
  function readWithLogprobs(
    text: string | undefined,
    { tokens, deltas }: { readonly tokens: Tokens; readonly deltas: 0 | 1 },
    events: AnswerEvent[],
  ): void {
    const before = events.length;
    if (text !== undefined) readText({ type: 'text-delta', choice: index, text, deltas: 1 }, events);
    if (tokens === undefined) return;
    const at = events.findIndex(({ type }, place) => place >= before && type === 'text-delta');
    const event = events[at];
    const list = carrying('content', tokens);
    if (event?.type === 'text-delta') events[at] = { ...event, ...list };
    else events.push({ type: 'text-delta', choice: index, text: '', deltas, ...list });
  }

  function readDelta(choice: JsonObject, events: AnswerEvent[]): void {
    const form = isObject(choice['delta']) ? 'pieces' : 'whole';
    const delta = choice['delta'] ?? choice['message'];
    if (!isObject(delta)) return;
    const logprobs = logprobsOf(choice['logprobs']);
    const reasoning = textOf(delta['reasoning_content']) ?? textOf(delta['reasoning']);
    if (reasoning !== undefined)
      readText({ type: 'reasoning-delta', choice: index, text: reasoning, deltas: 1 }, events);
    const refusal = textOf(delta['refusal']);
    const fragments = fragmentsOf(delta);
    // A token that is half a character has no text yet; one of a call or of reasoning is counted there.
    const deltas = reasoning === undefined && refusal === undefined && fragments.length === 0 ? 1 : 0;
    readWithLogprobs(textOf(delta['content']), { tokens: logprobs.content, deltas }, events);
    if (refusal !== undefined || logprobs.refusal !== undefined || fragments.length > 0) give(tags?.flush(), events);
    if (refusal !== undefined || logprobs.refusal !== undefined) {
      refused = true;
      const tokens = carrying('refusal', logprobs.refusal);
      events.push({ type: 'refusal-delta', choice: index, text: refusal ?? '', deltas: 1, ...tokens });
    }
    events.push(...tools.push(fragments, form));
  }

  return {
    finished: () => finished,
    text: (event, events) => {
      if (!finished) readText(event, events);
    },
    close: (events) => {
      const closing = finished || !tools.isWhole() ? undefined : tools.end();
      if (closing === undefined) return;
      give(tags?.flush(), events);
      events.push(...closing, { type: 'finish', choice: index, reason: 'tool_calls' });
      finished = true;
    },
    push: (choice, events) => {
      // What an engine sends after the end of a choice would contradict the ending the caller has.
      if (!finished) readDelta(choice, events);
      const raw = choice['finish_reason'];
      if (finished || raw === undefined || raw === null || raw === '') return undefined;
      const content = { calledTools: tools.calledTools(), refused };
      const reason = typeof raw === 'string' ? readFinishReason(raw, content) : undefined;
      if (reason === undefined) return { kind: 'engine-error', detail: 'unknown finish_reason' };
      const closing = tools.end();
      if (closing === undefined) return { kind: 'malformed', detail: 'tool call without a name' };
      give(tags?.flush(), events);
      const stopSequence = reason === 'stop' ? stopSequenceOf(choice) : undefined;
      const stopped = stopSequence === undefined ? {} : { stopSequence };
      events.push(...closing, { type: 'finish', choice: index, reason, ...stopped });
      finished = true;
      return undefined;
    },
  };
}
