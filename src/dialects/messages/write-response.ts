import type { AnswerIdentity, AskedAnswer, JsonWriter, StreamWriter } from '../../core/dialect.ts';
import type { AnswerEvent, FinishReason, RelayedEvent } from '../../core/event.ts';
import { type Bill, formatUsd, type Usage } from '../../core/money.ts';
import type { Citation } from '../../core/web-search.ts';
import { isObject, parseJson } from '../json.ts';
import { createBlockLine } from './block-line.ts';
import { frame } from './frame.ts';
import { writeCitation, writeSearchCall, writeSearchResult } from './search-blocks.ts';
import { writeError } from './write-error.ts';
import type { Sampling } from '../../core/request.ts';

/**
 * What stands where another vendor proves that a trace is its own. Clients want one and send it back; open models need no
 * proof, so any is accepted and this one proves nothing: it is base64 of the answer's id and the block's place in it.
 */
const signatureOf = ({ id }: AnswerIdentity, block: number): string => btoa(`weir:${id}:${block}`);

const reasons: Readonly<Record<FinishReason, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  // docs/reference/api.md §7.4: an ordinary answer.
  content_filter: 'refusal',
};

/** How an answer ended, in this format's words. */
interface StopReason {
  readonly stop_reason: string;
  readonly stop_sequence: string | null;
}

type Ending = AnswerEvent & { readonly type: 'finish' };

/**
 * Why an answer ended. That it stopped at one of the caller's sequences is only known where the engine says which one: others
 * end a turn alike.
 */
function stopReasonOf(
  { reason, stopSequence }: Pick<Ending, 'reason' | 'stopSequence'>,
  stop: Sampling['stop'],
): StopReason {
  const asked = typeof stop === 'string' ? [stop] : (stop ?? []);
  // A sequence that belongs to the model is nothing that its caller knows.
  return stopSequence !== undefined && reason === 'stop' && asked.includes(stopSequence)
    ? { stop_reason: 'stop_sequence', stop_sequence: stopSequence }
    : { stop_reason: reasons[reason], stop_sequence: null };
}

/**
 * Counts as members of a JSON object, without the braces. This format counts what was read from the cache beside the input,
 * not inside of it (docs/reference/engines.md §2), and has cache writes, which nobody here pays for.
 */
function writeCounts(usage: Usage): string {
  const { promptTokens, completionTokens, cachedTokens = 0, reasoningTokens, webSearches } = usage;
  const split = reasoningTokens === undefined ? '' : `,"output_tokens_details":{"thinking_tokens":${reasoningTokens}}`;
  const searches = webSearches === undefined ? '' : `,"server_tool_use":{"web_search_requests":${webSearches}}`;
  return (
    `"input_tokens":${promptTokens - cachedTokens},"cache_creation_input_tokens":0,` +
    `"cache_read_input_tokens":${cachedTokens},"output_tokens":${completionTokens}${split}${searches}`
  );
}

/** Usage block as JSON text. The cost is written as the exact decimal, which a float could not carry (docs/reference/api.md §2.4). */
const writeUsage = ({ usage, cost }: Bill): string => `{${writeCounts(usage)},"cost":${formatUsd(cost)}}`;

type Finish = Pick<AnswerEvent & { readonly type: 'finish' }, 'reason' | 'stopSequence'>;

/** What an answer begins with, as members of a JSON object. */
const head = ({ id, model }: AnswerIdentity): string =>
  `"id":${JSON.stringify(id)},"type":"message","role":"assistant","model":${JSON.stringify(model)}`;

/**
 * Writes events as a messages stream (docs/reference/engines.md §2): `message_start`, each block in turn with its deltas, `message_delta` with
 * the totals, which overwrite those of the start, and `message_stop`.
 */
export function createStreamWriter(identity: AnswerIdentity, { sampling }: AskedAnswer): StreamWriter {
  const line = createBlockLine((block) => signatureOf(identity, block));
  let usage: Usage | undefined;
  let finish: Finish = { reason: 'stop' };
  let isStarted = false;

  function start(): string {
    if (isStarted) return '';
    isStarted = true;
    // What an engine has told by now of the prompt. Clients of old read the input from here alone.
    const { promptTokens = 0, cachedTokens = 0 } = usage ?? {};
    const counts = writeCounts({ promptTokens, cachedTokens, completionTokens: 0 });
    const rest = '"content":[],"stop_reason":null,"stop_sequence":null';
    return frame('message_start', `"message":{${head(identity)},${rest},"usage":{${counts}}}`);
  }

  return {
    push: (events) => {
      for (const event of events) {
        if (event.type === 'usage') ({ usage } = event);
        else if (event.type === 'finish') {
          finish = event;
          line.end();
        } else line.take(event);
      }
      const blocks = line.write();
      return blocks === '' ? '' : start() + blocks;
    },
    // After the start: nothing stands before that.
    keepAlive: () => start() + frame('ping', ''),
    finish: (bill) => {
      line.end();
      const blocks = line.write();
      const delta = JSON.stringify(stopReasonOf(finish, sampling.stop));
      const totals = frame('message_delta', `"delta":${delta},"usage":${writeUsage(bill)}`);
      return start() + blocks + totals + frame('message_stop', '');
    },
    fail: (failure) => {
      // What is billed as delivered must have been.
      const blocks = line.breakOff();
      return `${blocks === '' ? '' : start()}${blocks}event: error\ndata: ${writeError(failure)}\n\n`;
    },
  };
}

/** A block as it is put together. */
type Part =
  | { readonly type: 'text'; text: string; readonly citations?: readonly Citation[] }
  | { readonly type: 'thinking'; text: string }
  | { readonly type: 'tool_use'; readonly id: string; readonly name: string; text: string }
  /** Of a search: written already. */
  | { readonly type: 'whole'; readonly json: string };

/** Arguments as the model wrote them. What is no JSON object was cut off by the output cap, and nobody could make use of it. */
const writeInput = (text: string): string => (isObject(parseJson(text)) ? text : '{}');

function writePart(part: Part, signature: string): string {
  switch (part.type) {
    case 'text': {
      const text = JSON.stringify({ type: 'text', text: part.text });
      const { citations } = part;
      return citations === undefined
        ? text
        : `${text.slice(0, -1)},"citations":[${citations.map(writeCitation).join(',')}]}`;
    }
    case 'whole':
      return part.json;
    case 'thinking':
      return JSON.stringify({ type: 'thinking', thinking: part.text, signature });
    case 'tool_use': {
      const { type, id, name } = part;
      return `${JSON.stringify({ type, id, name }).slice(0, -1)},"input":${writeInput(part.text)}}`;
    }
  }
}

/** Puts events together to one message, its blocks in the order in which they were begun. */
export function createJsonWriter(identity: AnswerIdentity, { sampling }: AskedAnswer): JsonWriter {
  const parts: Part[] = [];
  const calls: (Part & { readonly type: 'tool_use' })[] = [];
  let finish: Finish = { reason: 'stop' };

  function addText(type: 'text' | 'thinking', text: string): void {
    if (text === '') return;
    const last = parts.at(-1);
    if (last?.type === type && !('citations' in last)) last.text += text;
    else parts.push({ type, text });
  }

  function take(event: RelayedEvent): void {
    switch (event.type) {
      case 'text-delta':
      case 'refusal-delta': {
        const { text, citations } = event;
        if (citations === undefined) addText('text', text);
        else parts.push({ type: 'text', text, citations });
        return;
      }
      case 'reasoning-delta':
        addText('thinking', event.text);
        return;
      case 'tool-start': {
        const { id, name } = event;
        const call = { type: 'tool_use' as const, id, name, text: '' };
        calls[event.tool] = call;
        parts.push(call);
        return;
      }
      case 'tool-delta': {
        const call = calls[event.tool];
        if (call !== undefined) call.text += event.text;
        return;
      }
      case 'search-call':
        parts.push({ type: 'whole', json: `${writeSearchCall(event.id)},"input":${event.input}}` });
        return;
      case 'search-result':
        parts.push({ type: 'whole', json: writeSearchResult(event.id, event.result) });
        return;
      case 'finish':
        finish = event;
        return;
      case 'usage':
        return;
    }
  }

  return {
    push: (events) => {
      for (const event of events) take(event);
    },
    finish: (bill) => {
      const content = parts.map((part, index) => writePart(part, signatureOf(identity, index))).join(',');
      const ending = JSON.stringify(stopReasonOf(finish, sampling.stop)).slice(1, -1);
      return `{${head(identity)},"content":[${content}],${ending},"usage":${writeUsage(bill)}}`;
    },
  };
}
