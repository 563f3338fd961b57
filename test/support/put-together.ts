import { expect } from 'vitest';

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

/**
 * Reads a stream as it came, without a client library, and puts the answer together. Expects of it what every stream
 * promises: frames that end in a blank line, one identity, one role and one finish per choice, the trace in both of its
 * fields, dense tool indices, usage in a last chunk of its own, and then `[DONE]`.
 */
export function putTogether(stream: string): PutTogether {
  expect(stream.endsWith('\n\n')).toBe(true);
  const frames = stream.slice(0, -2).split('\n\n');
  expect(frames.pop()).toBe('data: [DONE]');
  const chunks = frames.map((frame) => {
    expect(frame).toMatch(/^data: \{.*\}$/);
    return JSON.parse(frame.slice('data: '.length)) as Chunk;
  });
  const [first] = chunks;
  const last = chunks.at(-1);
  if (first === undefined || last === undefined) throw new Error('no chunk came');
  for (const { id, object, created, model } of chunks) {
    expect({ id, object, created, model }).toEqual({
      ...{ id: first.id, object: 'chat.completion.chunk', created: first.created, model: first.model },
    });
  }
  expect(last.choices).toEqual([]);
  if (last.usage === null) throw new Error('no usage came');
  const choices: Choice[] = [];
  for (const chunk of chunks.slice(0, -1)) {
    expect(chunk.usage).toBeNull();
    for (const part of chunk.choices) take(choices, part);
  }
  for (const { finish_reason: reason, message } of choices) {
    expect(reason).not.toBeNull();
    expect(message.reasoning).toBe(message.reasoning_content);
    if (message.tool_calls === undefined && message.refusal === null) message.content ??= '';
  }
  return { object: first.object, model: first.model, choices, usage: last.usage };
}

function take(choices: Choice[], part: Chunk['choices'][number]): void {
  const { index, delta, logprobs, finish_reason: reason } = part;
  expect(index).toBeLessThanOrEqual(choices.length);
  const isNew = index === choices.length;
  const choice = (choices[index] ??= {
    ...{ index, message: { content: null, refusal: null }, logprobs: null, finish_reason: null },
  });
  expect(choice.finish_reason, 'nothing follows the finish').toBeNull();
  expect(delta['role'], 'the role comes once and first').toBe(isNew ? 'assistant' : undefined);
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
  expect(index).toBeLessThanOrEqual(calls.length);
  const known = calls[index];
  if (known === undefined) calls.push(call);
  else known.function.arguments += call.function.arguments;
}
