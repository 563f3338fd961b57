type Json = Readonly<Record<string, unknown>>;

interface ToolCall {
  readonly id: string;
  readonly type: string;
  readonly function: { readonly name: string; arguments: string };
}

interface Message {
  role?: string;
  content: string | null;
  refusal: string | null;
  reasoning_content?: string;
  reasoning?: string;
  tool_calls?: ToolCall[];
}

interface Choice {
  readonly index: number;
  readonly message: Message;
  logprobs: { content: unknown[] | null; refusal: unknown[] | null } | null;
  finish_reason: string | null;
}

export interface PutTogether {
  readonly object: string;
  readonly model: string;
  /** As an answer in one piece has them. */
  readonly choices: readonly Choice[];
  readonly usage: Json;
}

interface Chunk {
  readonly id: string;
  readonly object: string;
  readonly created: number;
  readonly model: string;
  readonly usage: Json | null;
  readonly choices: readonly {
    readonly index: number;
    readonly delta: Json;
    readonly logprobs?: { readonly content: unknown[] | null; readonly refusal: unknown[] | null } | null;
    readonly finish_reason: string | null;
  }[];
}

// Not vitest's `expect`, which takes longer than the gateway to look at a chunk.
function check(holds: boolean, promise: string, shown: unknown): void {
  if (!holds) throw new Error(`${promise}: ${JSON.stringify(shown)}`);
}

/**
 * Reads a stream as it came, without a client library, and puts the answer together. Throws when it lacks what every stream
 * promises: frames that end in a blank line, one identity, one role and one finish per choice, the trace in both of its
 * fields, dense tool indices, usage in a last chunk of its own, and then `[DONE]`.
 */
export function putTogether(stream: string): PutTogether {
  check(stream.endsWith('\n\n'), 'the last frame ends in a blank line', stream.slice(-100));
  const frames = stream.slice(0, -2).split('\n\n');
  check(frames.pop() === 'data: [DONE]', 'the last frame is [DONE]', stream.slice(-500));
  const chunks = frames.map((frame) => {
    check(/^data: \{.*\}$/.test(frame), 'a frame is one line of JSON', frame);
    return JSON.parse(frame.slice('data: '.length)) as Chunk;
  });
  const [first] = chunks;
  const last = chunks.at(-1);
  if (first === undefined || last === undefined) throw new Error('no chunk came');
  for (const chunk of chunks) {
    check(chunk.object === 'chat.completion.chunk', 'a chunk is called one', chunk);
    const isSame = chunk.id === first.id && chunk.created === first.created && chunk.model === first.model;
    check(isSame, 'all chunks have one identity', chunk);
  }
  check(last.choices.length === 0, 'the usage comes in a chunk of its own', last);
  if (last.usage === null) throw new Error('no usage came');
  const choices: Choice[] = [];
  for (const chunk of chunks.slice(0, -1)) {
    check(chunk.usage === null, 'usage is null until the last chunk', chunk);
    for (const part of chunk.choices) take(choices, part);
  }
  for (const { finish_reason: reason, message } of choices) {
    check(reason !== null, 'every choice has a finish reason', message);
    check(message.reasoning === message.reasoning_content, 'the trace stands in both fields', message);
    if (message.tool_calls === undefined && message.refusal === null) message.content ??= '';
  }
  return { object: first.object, model: first.model, choices, usage: last.usage };
}

function take(choices: Choice[], part: Chunk['choices'][number]): void {
  const { index, delta, logprobs, finish_reason: reason } = part;
  check(index <= choices.length, 'choices are numbered densely', part);
  const isNew = index === choices.length;
  const choice = (choices[index] ??= {
    ...{ index, message: { content: null, refusal: null }, logprobs: null, finish_reason: null },
  });
  check(choice.finish_reason === null, 'nothing follows the finish', part);
  check(delta['role'] === (isNew ? 'assistant' : undefined), 'the role comes once and first', part);
  const { message } = choice;
  for (const [name, value] of Object.entries(delta)) addField(message, name, value);
  if (logprobs !== undefined && logprobs !== null) {
    choice.logprobs ??= { content: null, refusal: null };
    for (const field of ['content', 'refusal'] as const) {
      const tokens = logprobs[field];
      if (tokens !== null) choice.logprobs[field] = [...(choice.logprobs[field] ?? []), ...tokens];
    }
  }
  choice.finish_reason = reason;
}

function addField(message: Message, name: string, value: unknown): void {
  switch (name) {
    case 'role':
      message.role = String(value);
      return;
    case 'content':
    case 'refusal':
    case 'reasoning':
    case 'reasoning_content':
      // The role chunk has an empty content, which says nothing.
      if (value !== '') message[name] = (message[name] ?? '') + String(value);
      return;
    case 'tool_calls':
      for (const call of value as (ToolCall & { readonly index: number })[]) addCall((message.tool_calls ??= []), call);
      return;
    default:
      throw new Error(`a delta has an unknown field ${name}`);
  }
}

function addCall(calls: ToolCall[], { index, ...call }: ToolCall & { readonly index: number }): void {
  check(index <= calls.length, 'tool calls are numbered densely', call);
  const known = calls[index];
  if (known === undefined) calls.push(call);
  else known.function.arguments += call.function.arguments;
}
