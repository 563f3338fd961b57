import type { Feature } from '../../../core/capability.ts';
import type { AnswerIdentity, AskedAnswer, JsonWriter, StreamWriter } from '../../../core/dialect.ts';
import type { AnswerEvent, FinishReason, RelayedEvent } from '../../../core/event.ts';
import { errorBody, type Failure } from '../../../core/failure.ts';
import { isObject, parseJson } from '../../../core/json.ts';
import { type Bill, formatUsd, type Usage } from '../../../core/money.ts';
import { isParameter, parameters, type Sampling } from '../../../core/parameters.ts';
import type { Citation } from '../../../core/web-search.ts';
import { createBlockQueue, frame, writeState } from './block-queue.ts';
import { writeCitation, writeSearchCall, writeSearchResult } from './search-blocks.ts';

type Finish = Pick<AnswerEvent & { readonly type: 'finish' }, 'reason' | 'stopSequence'>;

/**
 * Writes events as a messages stream (docs/reference/engines.md §2): `message_start`, each block in turn with its deltas,
 * `message_delta` with the totals, which replace the counts of the start, and `message_stop`.
 */
export function createStreamWriter(identity: AnswerIdentity, { sampling }: AskedAnswer): StreamWriter {
  const queue = createBlockQueue((block) => signatureOf(identity, block));
  let usage: Usage | undefined;
  let finish: Finish = { reason: 'stop' };
  let isStarted = false;

  function start(): string {
    if (isStarted) return '';
    isStarted = true;
    // The counts that the engine has reported so far. Old clients read the input tokens only from this event.
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
          queue.push(event);
          queue.end();
        } else queue.push(event);
      }
      const blocks = queue.write();
      return blocks === '' ? '' : start() + blocks;
    },
    // A ping may not precede the start.
    keepAlive: () => start() + frame('ping', ''),
    finish: (bill) => {
      queue.end();
      const blocks = queue.write();
      const delta = JSON.stringify(stopReasonOf(finish, sampling.stop));
      const totals = frame('message_delta', `"delta":${delta},"usage":${writeUsage(bill)}`);
      return start() + blocks + totals + frame('message_stop', '');
    },
    fail: (failure) => {
      // Text that was held back is billed as delivered, so it must be sent.
      const blocks = queue.breakOff();
      return `${blocks === '' ? '' : start()}${blocks}event: error\ndata: ${writeError(failure)}\n\n`;
    },
  };
}

/** A block that is being assembled. */
type Part =
  | { readonly type: 'text'; text: string; readonly citations?: readonly Citation[] }
  | { readonly type: 'thinking'; text: string }
  | { readonly type: 'tool_use'; readonly id: string; readonly name: string; text: string }
  /** A block of a search or of the engine's state, as JSON. */
  | { readonly type: 'whole'; readonly json: string };

/** The arguments as the model wrote them. Anything but a JSON object was cut off by the output cap and is of no use. */
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

/** Assembles events into one message, with its blocks in the order in which they began. */
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
        if (event.sealedState !== undefined) parts.push({ type: 'whole', json: writeState(event.sealedState) });
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

/**
 * The signature of a block of thinking. Clients require one and send it back. Another vendor proves with it that the thinking is its
 * own; open models need no proof, so any signature is accepted. Ours is base64 of the answer's id and the block's index.
 */
const signatureOf = ({ id }: AnswerIdentity, block: number): string => btoa(`weir:${id}:${block}`);

const reasons: Readonly<Record<FinishReason, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  // A refusal is an ordinary answer: docs/reference/api.md §7.4.
  content_filter: 'refusal',
};

/** How an answer ended, in the fields of this format. */
interface StopReason {
  readonly stop_reason: string;
  readonly stop_sequence: string | null;
}

/** The stop reason of an answer. `stop_sequence` is only known when the engine names the sequence; else the turn has merely ended. */
function stopReasonOf({ reason, stopSequence }: Finish, stop: Sampling['stop']): StopReason {
  const asked = typeof stop === 'string' ? [stop] : (stop ?? []);
  // The caller does not know the model's own stop sequences.
  return stopSequence !== undefined && reason === 'stop' && asked.includes(stopSequence)
    ? { stop_reason: 'stop_sequence', stop_sequence: stopSequence }
    : { stop_reason: reasons[reason], stop_sequence: null };
}

/**
 * Token counts as members of a JSON object, without the braces. `input_tokens` leaves out the tokens that were read from the cache
 * (docs/reference/engines.md §2). Cache writes are free here.
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

/** The usage block as JSON text. The cost is the exact decimal, which a float could not represent (docs/reference/api.md §2.4). */
const writeUsage = ({ usage, cost }: Bill): string => `{${writeCounts(usage)},"cost":${formatUsd(cost)}}`;

/** The first members of an answer's JSON object. */
const head = ({ id, model }: AnswerIdentity): string =>
  `"id":${JSON.stringify(id)},"type":"message","role":"assistant","model":${JSON.stringify(model)}`;

/** The names of this format for parts of a request that are no parameters, where they differ from ours. */
const fieldNames: Partial<Readonly<Record<Feature, string>>> = {
  reasoning: 'thinking',
  response_format: 'output_config.format',
};

function fieldNameOf(feature: Feature): string {
  if (!isParameter(feature)) return fieldNames[feature] ?? feature;
  const { messages } = parameters[feature];
  switch (messages.kind) {
    case 'none':
      return feature;
    case 'field':
      return messages.name;
    case 'part':
      return messages.path;
  }
}

/**
 * The envelope of every error (docs/reference/api.md §2.5), before an answer and inside an answer. Clients of this format recognize
 * an error by its `type`.
 */
export const writeError = (failure: Failure): string =>
  JSON.stringify({ type: 'error', error: errorBody(failure, fieldNameOf) });
