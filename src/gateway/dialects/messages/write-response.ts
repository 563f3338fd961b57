import type { Feature } from '../../../core/capability.ts';
import type { AnswerIdentity, AskedAnswer, JsonWriter, StreamWriter } from '../../../core/dialect.ts';
import type { AnswerEvent, FinishReason } from '../../../core/event.ts';
import { errorBody, type Failure } from '../../../core/failure.ts';
import { type Bill, formatUsd, type Usage } from '../../../core/money.ts';
import { isParameter, parameters, type Sampling } from '../../../core/parameters.ts';
import { createBlockQueue, frame } from './block-queue.ts';

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

/** Assembles events into one message, with its blocks in the order in which they began. */
export function createJsonWriter(identity: AnswerIdentity, { sampling }: AskedAnswer): JsonWriter {
  const queue = createBlockQueue((block) => signatureOf(identity, block));
  let finish: Finish = { reason: 'stop' };
  return {
    push: (events) => {
      for (const event of events) {
        if (event.type === 'finish') finish = event;
        queue.push(event);
      }
    },
    finish: (bill) => {
      const ending = JSON.stringify(stopReasonOf(finish, sampling.stop)).slice(1, -1);
      return `{${head(identity)},"content":[${queue.whole()}],${ending},"usage":${writeUsage(bill)}}`;
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
