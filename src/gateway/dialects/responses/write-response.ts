import type { Feature } from '../../../core/capability.ts';
import type { AnswerIdentity, AskedAnswer, JsonWriter, StreamWriter, WriteOptions } from '../../../core/dialect.ts';
import type { FinishReason, RelayedEvent } from '../../../core/event.ts';
import { errorBody, type Failure } from '../../../core/failure.ts';
import { type Bill, formatUsd } from '../../../core/money.ts';
import type { Request } from '../../../core/request.ts';
import type { TraceWriting } from './output-items.ts';
import { createOutput, type WriteEvent } from './write-output.ts';

/**
 * Writes events as a stream of this format: `response.created`, `response.in_progress`, each item with its parts, and the whole response
 * at the end. Every event has a number. After an error no event follows.
 */
export function createStreamWriter(identity: AnswerIdentity, asked: AskedAnswer, options?: WriteOptions): StreamWriter {
  let number = 0;
  const write: WriteEvent = (type, members) => {
    const event = `event: ${type}\ndata: {"type":"${type}","sequence_number":${number},${members}}\n\n`;
    number += 1;
    return event;
  };
  const output = createOutput(identity, asked, { trace: traceWriting(asked, options), write });
  const response = responseWriter(identity, asked);
  let reason: FinishReason = 'stop';
  let hasRefused = false;
  let isStarted = false;

  const inProgress = (type: string): string =>
    write(type, `"response":${response({ status: 'in_progress', output: '[]' })}`);

  function start(): string {
    if (isStarted) return '';
    isStarted = true;
    return inProgress('response.created') + inProgress('response.in_progress');
  }

  return {
    push: (events) => {
      let text = '';
      for (const event of events) {
        if (event.type === 'finish') ({ reason } = event);
        if (event.type === 'refusal-delta') hasRefused = true;
        // The numbers of events are in their order.
        if (event.type !== 'usage') text += start() + output.push(event);
      }
      return text;
    },
    // Clients count events only, not comments, and know this one. The first event must be the start.
    keepAlive: () => start() || inProgress('response.in_progress'),
    finish: (bill) => {
      const begun = start() + output.end();
      const { status, incomplete } = endingOf(reason, hasRefused);
      const whole = response({ status, incomplete, output: output.items(), bill });
      return begun + write(`response.${status}`, `"response":${whole}`);
    },
    fail: (failure) => {
      const begun = start() + output.breakOff();
      const error = errorBody(failure, fieldNameOf);
      const { code, message } = error;
      const failed = response({ status: 'failed', output: output.items(), error: JSON.stringify({ code, message }) });
      // Libraries raise an error for an event with this member; without it they would take the text so far for the answer.
      return begun + write('response.failed', `"response":${failed},"error":${JSON.stringify(error)}`);
    },
  };
}

/** Assembles events into one response, by the same steps as a stream. */
export function createJsonWriter(identity: AnswerIdentity, asked: AskedAnswer, options?: WriteOptions): JsonWriter {
  const output = createOutput(identity, asked, { trace: traceWriting(asked, options), write: () => '' });
  let reason: FinishReason = 'stop';
  let hasRefused = false;

  function take(event: RelayedEvent): void {
    if (event.type === 'finish') ({ reason } = event);
    if (event.type === 'refusal-delta') hasRefused = true;
    output.push(event);
  }

  return {
    push: (events) => {
      for (const event of events) take(event);
    },
    finish: (bill) => {
      output.end();
      const ending = endingOf(reason, hasRefused);
      return responseWriter(identity, asked)({ ...ending, output: output.items(), bill });
    },
  };
}

function traceWriting({ traceForm }: AskedAnswer, { traces }: WriteOptions = {}): TraceWriting {
  const { asSummary = false, sealed = false } = traceForm ?? {};
  return { asSummary, sealTrace: sealed ? traces?.sealTrace : undefined };
}

interface Ending {
  readonly status: 'completed' | 'incomplete';
  /** The reason, in the words of this format. */
  readonly incomplete: string | undefined;
}

/** A refusal is an ordinary answer (docs/reference/api.md §7.4), which this format shows by its part. Without that part, the reason shows it. */
function endingOf(reason: FinishReason, hasRefused: boolean): Ending {
  switch (reason) {
    case 'length':
      return { status: 'incomplete', incomplete: 'max_output_tokens' };
    case 'content_filter':
      return hasRefused
        ? { status: 'completed', incomplete: undefined }
        : { status: 'incomplete', incomplete: 'content_filter' };
    case 'stop':
    case 'tool_calls':
      return { status: 'completed', incomplete: undefined };
  }
}

/** The members of a response that change while it is written. Values are JSON. */
interface Changing {
  readonly status: 'in_progress' | 'completed' | 'incomplete' | 'failed';
  readonly output: string;
  readonly bill?: Bill;
  readonly error?: string;
  readonly incomplete?: string | undefined;
}

/**
 * Returns a function that writes the response object. The fields of the request that it repeats are written once. Instructions and
 * tools are not repeated: they would triple the bytes of a stream, and no client needs them.
 */
function responseWriter(identity: AnswerIdentity, asked: AskedAnswer): (changing: Changing) => string {
  const { id, created, model } = identity;
  const head = JSON.stringify({ id, object: 'response', created_at: created, model }).slice(0, -1);
  const tail = JSON.stringify(repeated(asked)).slice(1);
  return ({ status, output, bill, error = 'null', incomplete }) => {
    const details = incomplete === undefined ? 'null' : `{"reason":"${incomplete}"}`;
    const state = `"status":"${status}","error":${error},"incomplete_details":${details}`;
    const usage = bill === undefined ? '"usage":null' : writeUsage(bill);
    return `${head},${state},"output":${output},${usage},${tail}`;
  };
}

/** The members of a response that say how it was asked for. */
function repeated({ sampling, maxOutputTokens, reasoning, traceForm, responseFormat, ...asked }: AskedAnswer): object {
  return {
    background: false,
    conversation: null,
    instructions: null,
    max_tool_calls: null,
    metadata: {},
    previous_response_id: null,
    service_tier: null,
    store: false,
    tools: [],
    truncation: 'disabled',
    max_output_tokens: maxOutputTokens ?? null,
    parallel_tool_calls: sampling.parallel_tool_calls ?? true,
    reasoning: { effort: effortOf(reasoning), summary: traceForm?.asSummary === true ? 'detailed' : null },
    temperature: sampling.temperature ?? null,
    text: { format: responseFormat ?? { type: 'text' } },
    tool_choice: choiceOf(asked),
    top_logprobs: sampling.top_logprobs ?? 0,
    top_p: sampling.top_p ?? null,
  };
}

function effortOf(reasoning: Request['reasoning']): string | null {
  if (reasoning === undefined) return null;
  if (!reasoning.enabled) return 'none';
  return reasoning.effort === 'max' ? 'xhigh' : (reasoning.effort ?? null);
}

function choiceOf({ toolChoice = 'auto', callFormat }: Pick<AskedAnswer, 'toolChoice' | 'callFormat'>): unknown {
  if (typeof toolChoice === 'string') return toolChoice;
  const isCustom = callFormat?.customTools.includes(toolChoice.name) === true;
  return { type: isCustom ? 'custom' : 'function', name: toolChoice.name };
}

/**
 * The usage as members of a JSON object. Clients require both details, so a count that is not known is 0 there. The cost is the exact
 * decimal (docs/reference/api.md §2.4). Searches have a member of their own.
 */
function writeUsage({ usage, cost }: Bill): string {
  const { promptTokens, completionTokens, cachedTokens = 0, reasoningTokens = 0, webSearches } = usage;
  const searches = webSearches === undefined ? '' : `,"tool_usage":{"web_search":{"num_requests":${webSearches}}}`;
  return (
    `"usage":{"input_tokens":${promptTokens},"input_tokens_details":{"cached_tokens":${cachedTokens}},` +
    `"output_tokens":${completionTokens},"output_tokens_details":{"reasoning_tokens":${reasoningTokens}},` +
    `"total_tokens":${promptTokens + completionTokens},"cost":${formatUsd(cost)}}${searches}`
  );
}

/** The names of this format for parts of a request, where they differ from ours. */
const fieldNames: Partial<Readonly<Record<Feature, string>>> = {
  reasoning: 'reasoning.effort',
  response_format: 'text.format',
  logprobs: 'include',
};

const fieldNameOf = (feature: Feature): string => fieldNames[feature] ?? feature;

/** The envelope of every error before an answer (docs/reference/api.md §2.5). */
export const writeError = (failure: Failure): string => JSON.stringify({ error: errorBody(failure, fieldNameOf) });
