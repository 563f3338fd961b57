import {
  type CheckedBlock,
  type CheckedStream,
  checkMessagesStream,
} from '../../../support/messages-stream-checker.ts';
import type { PutTogether } from '../put-together.ts';
import type { Interrupted } from './interrupted-stream.ts';

type Message = PutTogether['choices'][number]['message'];
type Json = Readonly<Record<string, unknown>>;

const finishOf: Readonly<Record<string, string>> = {
  ...{
    end_turn: 'stop',
    stop_sequence: 'stop',
    max_tokens: 'length',
    tool_use: 'tool_calls',
    refusal: 'content_filter',
  },
};

function messageOf(content: readonly CheckedBlock[]): Message {
  const text = content.map(({ type, text: words }) => (type === 'text' ? String(words) : '')).join('');
  const trace = content.map(({ type, thinking }) => (type === 'thinking' ? String(thinking) : '')).join('');
  const calls = content.flatMap(({ type, id, name, input }) => {
    if (type !== 'tool_use') return [];
    const { cut } = Object(input) as { readonly cut?: string };
    return [
      { id: String(id), type: 'function', function: { name: String(name), arguments: cut ?? JSON.stringify(input) } },
    ];
  });
  return {
    ...{ role: 'assistant', refusal: null, content: text === '' && calls.length > 0 ? null : text },
    ...(trace === '' ? {} : { reasoning: trace, reasoning_content: trace }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}

function usageOf({ input_tokens: input, cache_read_input_tokens: cached, output_tokens: output, cost }: Json): Json {
  const prompt = Number(input) + Number(cached);
  return { prompt_tokens: prompt, completion_tokens: output, total_tokens: prompt + Number(output), cost };
}

/** A messages answer in the chat format's words. Throws when it is not what every one of them is. */
export function readMessages(body: string, stream: boolean): PutTogether {
  const {
    content,
    stop_reason: reason,
    usage,
    model,
    ending,
  } = stream ? checkMessagesStream(body) : { ...(JSON.parse(body) as CheckedStream), ending: 'whole' };
  if (ending !== 'whole') throw new Error(`it ended in an error: ${body.slice(-300)}`);
  const finish = finishOf[String(reason)] ?? null;
  const choice = { index: 0, message: messageOf(content), finish_reason: finish, logprobs: null };
  return { object: 'chat.completion', model, choices: [choice], usage: usageOf(usage) };
}

/** A messages stream that ended in an error, in the same words. Throws when it did not. */
export function readBrokenMessages(stream: string): Interrupted {
  const { content, ending, error } = checkMessagesStream(stream);
  if (ending !== 'error') throw new Error(`it did not end in an error: ${stream.slice(-300)}`);
  const choice = { index: 0, message: messageOf(content), finish_reason: null, logprobs: null };
  return { choices: [choice], terminal: { choices: [{ finish_reason: 'error' }], error } };
}
