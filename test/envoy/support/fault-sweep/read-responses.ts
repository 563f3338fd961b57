import {
  type CheckedItem,
  type CheckedResponse,
  checkResponsesStream,
} from '../../../support/responses-stream-checker.ts';
import type { PutTogether } from '../put-together.ts';
import type { Interrupted } from './interrupted-stream.ts';

type Message = PutTogether['choices'][number]['message'];
type Json = Readonly<Record<string, unknown>>;

const partsOf = (items: readonly CheckedItem[], type: string): readonly Json[] =>
  items.flatMap((item) => (item.type === type ? ((item['content'] ?? []) as readonly Json[]) : []));

const join = (parts: readonly Json[], type: string, field: string): string =>
  parts.map((part) => (part['type'] === type ? String(part[field]) : '')).join('');

function messageOf(output: readonly CheckedItem[]): Message {
  const parts = partsOf(output, 'message');
  const text = join(parts, 'output_text', 'text');
  const refusal = join(parts, 'refusal', 'refusal');
  const trace = join(partsOf(output, 'reasoning'), 'reasoning_text', 'text');
  const calls = output.flatMap((item) =>
    item.type === 'function_call'
      ? [
          {
            ...{ id: String(item['call_id']), type: 'function' },
            function: { name: String(item['name']), arguments: String(item['arguments']) },
          },
        ]
      : [],
  );
  return {
    ...{ role: 'assistant', refusal: refusal === '' ? null : refusal },
    content: text === '' && (calls.length > 0 || refusal !== '') ? null : text,
    ...(trace === '' ? {} : { reasoning: trace, reasoning_content: trace }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}

function finishOf({ status, incomplete_details: details }: CheckedResponse, message: Message): string {
  if (status === 'incomplete') return Object(details).reason === 'content_filter' ? 'content_filter' : 'length';
  if (message.refusal !== null) return 'content_filter';
  return message.tool_calls === undefined ? 'stop' : 'tool_calls';
}

/** A responses answer in the chat format's words. Throws when it is not what every one of them is. */
export function readResponses(body: string, stream: boolean): PutTogether {
  const response = stream ? checkResponsesStream(body) : (JSON.parse(body) as CheckedResponse);
  if (response.status === 'failed') throw new Error(`it failed: ${body.slice(-300)}`);
  const message = messageOf(response.output);
  const { input_tokens: prompt, output_tokens: completion, total_tokens: total, cost } = response.usage ?? {};
  const usage = { prompt_tokens: prompt, completion_tokens: completion, total_tokens: total, cost };
  const choice = { index: 0, message, finish_reason: finishOf(response, message), logprobs: null };
  return { object: 'chat.completion', model: response.model, choices: [choice], usage };
}

/** A responses stream that failed, in the same words. Throws when it did not. */
export function readBrokenResponses(stream: string): Interrupted {
  const { output, status, error } = checkResponsesStream(stream);
  if (status !== 'failed') throw new Error(`it did not fail: ${stream.slice(-300)}`);
  const choice = { index: 0, message: messageOf(output), finish_reason: null, logprobs: null };
  return { choices: [choice], terminal: { choices: [{ finish_reason: 'error' }], error } };
}
