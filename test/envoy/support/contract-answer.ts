import { failures } from '../../../src/core/failure.ts';

/** An answer as it came, for checking whether it is one that the contract knows. */
export interface ReceivedAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

type Json = Readonly<Record<string, unknown>>;

const isRecord = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0;
const isText = (value: unknown): boolean => typeof value === 'string';
const isTextOrNull = (value: unknown): boolean => value === null || isText(value);

/** Codes that a 400 may show; `undefined` for a body that is wrong. */
const refusals: ReadonlySet<unknown> = new Set([
  undefined,
  ...Object.entries(failures).flatMap(([code, row]) => (row.status === 400 && row.shown ? [code] : [])),
]);

const finishReasons: ReadonlySet<unknown> = new Set(['stop', 'length', 'tool_calls', 'content_filter']);

/** Longest message of an envelope: it is for people, and it quotes no more of a body than a field's path. */
const maxMessageLength = 500;

function faultOfRefusal({ contentType, body }: ReceivedAnswer): string | undefined {
  if (contentType !== 'application/json') return `a refusal is ${contentType}`;
  const value: unknown = JSON.parse(body);
  if (!isRecord(value) || Object.keys(value).join() !== 'error') return 'a refusal is not the envelope alone';
  const { error } = value;
  if (!isRecord(error)) return 'error is no object';
  const { message, type, code, ...rest } = error;
  if (Object.keys(rest).length > 0) return `error has more fields: ${Object.keys(rest).join()}`;
  if (typeof message !== 'string' || message === '') return 'the message is no text';
  if (message.length > maxMessageLength) return `the message has ${message.length} characters`;
  if (type !== 'invalid_request_error') return `the type is ${String(type)}`;
  return refusals.has(code) ? undefined : `the code is ${String(code)}`;
}

function faultOfUsage(usage: unknown): string | undefined {
  if (!isRecord(usage)) return 'usage is no object';
  const { prompt_tokens: prompt, completion_tokens: completion, total_tokens: total, cost } = usage;
  if (![prompt, completion, total].every(isCount)) return 'a token count is none';
  if (Number(prompt) + Number(completion) !== total) return 'the tokens do not add up';
  return typeof cost === 'number' && cost >= 0 ? undefined : 'the cost is no number';
}

function faultOfIdentity(value: Json, object: string): string | undefined {
  const { id, created, model } = value;
  if (value['object'] !== object) return `the object is ${String(value['object'])}`;
  if (!/^chatcmpl-[\w-]{22}$/.test(String(id)) || !isCount(created)) return 'id or created are not as they should be';
  if (value['error'] !== undefined) return 'a good answer has an error';
  return /^[a-z0-9-]+\/[a-z0-9.-]+$/.test(String(model)) ? undefined : `the model is ${String(model)}`;
}

function isCall(call: unknown): boolean {
  if (!isRecord(call) || !isText(call['id']) || call['type'] !== 'function') return false;
  const { function: called } = call;
  return isRecord(called) && isText(called['name']) && isText(called['arguments']);
}

function faultOfMessage(message: unknown): string | undefined {
  if (!isRecord(message) || message['role'] !== 'assistant') return 'the message is none of an assistant';
  const { content, reasoning, reasoning_content: trace, tool_calls: calls } = message;
  if (!isTextOrNull(content)) return 'the content is no text';
  if (reasoning !== trace || (trace !== undefined && !isText(trace))) return 'the trace is not the same in both fields';
  return calls === undefined || (Array.isArray(calls) && calls.every(isCall)) ? undefined : 'tool_calls are not calls';
}

function faultOfWhole({ contentType, body }: ReceivedAnswer): string | undefined {
  if (contentType !== 'application/json') return `an answer is ${contentType}`;
  const value: unknown = JSON.parse(body);
  if (!isRecord(value)) return 'an answer is no object';
  const { choices } = value;
  if (!Array.isArray(choices) || choices.length === 0) return 'there is no choice';
  const faults = choices.map((choice: unknown, index) => {
    if (!isRecord(choice) || choice['index'] !== index) return 'the choices are not in order';
    return finishReasons.has(choice['finish_reason']) ? faultOfMessage(choice['message']) : 'a choice did not finish';
  });
  return (
    faultOfIdentity(value, 'chat.completion') ??
    faults.find((fault) => fault !== undefined) ??
    faultOfUsage(value['usage'])
  );
}

function faultOfChunk(text: string): string | undefined {
  if (!/^data: \{.*\}$/.test(text)) return 'a frame is no data line';
  const chunk: unknown = JSON.parse(text.slice('data: '.length));
  if (!isRecord(chunk) || !Array.isArray(chunk['choices'])) return 'a chunk has no choices';
  const usage = chunk['usage'] ?? undefined;
  return (
    faultOfIdentity(chunk, 'chat.completion.chunk') ?? (usage === undefined ? undefined : faultOfUsage(chunk['usage']))
  );
}

function faultOfStream({ contentType, body }: ReceivedAnswer): string | undefined {
  if (!/^text\/event-stream; *charset=utf-8$/.test(contentType)) return `a stream is ${contentType}`;
  const frames = body.split('\n\n');
  if (frames.pop() !== '' || frames.pop() !== 'data: [DONE]') return 'a stream does not end with [DONE]';
  if (!/"finish_reason":"/.test(body)) return 'a stream has no finish';
  return frames.map(faultOfChunk).find((fault) => fault !== undefined);
}

/**
 * What is wrong with an answer of the chat endpoint to a caller with a good key, while the engines are well: it may be
 * a whole answer, a stream, a refusal, or a 413. Undefined when nothing is. docs/reference/api.md §2.3 to §2.5, §7.
 */
export function faultOfAnswer(answer: ReceivedAnswer): string | undefined {
  try {
    switch (answer.status) {
      case 200:
        return answer.contentType.startsWith('text/event-stream') ? faultOfStream(answer) : faultOfWhole(answer);
      case 400:
        return faultOfRefusal(answer);
      case 413:
        return answer.contentType === 'text/plain' ? undefined : `a 413 is ${answer.contentType}`;
      default:
        return `the status is ${answer.status}`;
    }
  } catch (error) {
    return String(error);
  }
}
