import { EventSourceParserStream } from 'eventsource-parser/stream';
import { send, withQuery } from './api.ts';
import type { ChatRequest } from './chat-request.ts';

/** A call of a tool. The arguments are JSON, as far as they have arrived. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

/** An answer as far as it has arrived. */
export interface ChatAnswer {
  readonly reasoning: string;
  readonly text: string;
  readonly calls: readonly ToolCall[];
  /** Time from the question to the first piece of output, ms. */
  readonly firstTokenMs: number | undefined;
  /** Time from the question to the newest piece of output, ms. */
  readonly lastTokenMs: number | undefined;
  readonly finish: string | undefined;
  readonly usage: ChatUsage | undefined;
}

interface ChatUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly completion_tokens_details?: { readonly reasoning_tokens?: number } | null;
  /** USD, exact. */
  readonly cost?: number | string;
}

interface CallDelta {
  readonly index: number;
  readonly id?: string | null;
  readonly function?: { readonly name?: string | null; readonly arguments?: string | null };
}

interface Chunk {
  readonly choices?: readonly {
    readonly delta?: {
      readonly content?: string | null;
      readonly reasoning?: string | null;
      readonly tool_calls?: readonly CallDelta[] | null;
    };
    readonly finish_reason?: string | null;
  }[];
  readonly usage?: ChatUsage | null;
  readonly error?: { readonly message: string };
}

export const emptyAnswer: ChatAnswer = {
  ...{ reasoning: '', text: '', calls: [], firstTokenMs: undefined, lastTokenMs: undefined },
  ...{ finish: undefined, usage: undefined },
};

interface AskOptions {
  /** Id of the workspace that pays. */
  readonly workspace: string;
  /** Text of an API key that is used in place of the portal's own. Its workspace pays. */
  readonly ownKey: string | undefined;
  readonly signal: AbortSignal;
  readonly onAnswer: (answer: ChatAnswer) => void;
}

/** Sends a request through the edge, as a client does, and reports the answer as it grows. Resolves to the whole answer. Throws the gateway's error. */
export async function ask(
  request: ChatRequest,
  { workspace, ownKey, signal, onAnswer }: AskOptions,
): Promise<ChatAnswer> {
  const startedMs = performance.now();
  const response = await send(withQuery('/playground/chat', { workspace }), {
    ...{ method: 'POST', accept: 'text/event-stream', signal, playgroundKey: ownKey },
    body: { ...request, stream: true, stream_options: { include_usage: true } },
  });
  if (response.body === null) throw new Error('The answer is empty.');
  const events = response.body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
  let answer = emptyAnswer;
  const reader = events.getReader();
  for (let step = await reader.read(); !step.done; step = await reader.read()) {
    if (step.value.data === '[DONE]') break;
    const chunk = JSON.parse(step.value.data) as Chunk;
    if (chunk.error !== undefined) throw new Error(chunk.error.message);
    answer = grown(answer, chunk, performance.now() - startedMs);
    onAnswer(answer);
  }
  return answer;
}

function grown(before: ChatAnswer, { choices = [], usage }: Chunk, nowMs: number): ChatAnswer {
  const [choice] = choices;
  const reasoning = choice?.delta?.reasoning ?? '';
  const text = choice?.delta?.content ?? '';
  const calls = choice?.delta?.tool_calls ?? [];
  const hasOutput = reasoning !== '' || text !== '' || calls.length > 0;
  return {
    reasoning: before.reasoning + reasoning,
    text: before.text + text,
    calls: calls.reduce(withDelta, before.calls),
    firstTokenMs: before.firstTokenMs ?? (hasOutput ? nowMs : undefined),
    lastTokenMs: hasOutput ? nowMs : before.lastTokenMs,
    finish: choice?.finish_reason ?? before.finish,
    usage: usage ?? before.usage,
  };
}

/** Weir numbers the calls of an answer from 0, without gaps. */
function withDelta(calls: readonly ToolCall[], { index, id, function: called }: CallDelta): readonly ToolCall[] {
  const before = calls[index] ?? { id: '', name: '', arguments: '' };
  const after: ToolCall = {
    id: before.id + (id ?? ''),
    name: before.name + (called?.name ?? ''),
    arguments: before.arguments + (called?.arguments ?? ''),
  };
  return index < calls.length ? calls.with(index, after) : [...calls, after];
}

/** Output tokens a second, from the first one to the last one. Undefined: too few to have a speed. */
export function speedOf({ firstTokenMs, lastTokenMs, usage }: ChatAnswer): number | undefined {
  const tokens = (usage?.completion_tokens ?? 0) - 1;
  if (firstTokenMs === undefined || lastTokenMs === undefined || tokens < 1) return undefined;
  const ms = lastTokenMs - firstTokenMs;
  return ms <= 0 ? undefined : (tokens / ms) * 1_000;
}
