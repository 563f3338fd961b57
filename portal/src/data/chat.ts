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
  readonly finish: string | undefined;
  readonly usage: ChatUsage | undefined;
}

export interface ChatUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
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
  ...{ reasoning: '', text: '', calls: [], finish: undefined, usage: undefined },
};

/** How a request of the playground is paid, and found again. */
export interface PlaygroundCall {
  /** Id of the workspace that pays. */
  readonly workspace: string;
  /** Text of an API key that is used in place of the portal's own. Its workspace pays. */
  readonly ownKey: string | undefined;
  /** By this id, `useServed` finds the request. */
  readonly requestId: string;
  readonly signal: AbortSignal;
}

/** Sends a body to a surface of the gateway, as a client does. Throws the gateway's error. */
export function sendToGateway(
  surface: 'chat' | 'embeddings',
  body: object,
  { workspace, ownKey, requestId, signal }: PlaygroundCall,
): Promise<Response> {
  return send(withQuery(`/playground/${surface}`, { workspace }), {
    ...{ method: 'POST', accept: 'text/event-stream', body, signal },
    headers: { 'playground-key': ownKey, 'playground-request-id': requestId },
  });
}

interface AskOptions extends PlaygroundCall {
  readonly onAnswer: (answer: ChatAnswer) => void;
}

/** Sends a request through the edge, as a client does, and reports the answer as it grows. Resolves to the whole answer. Throws the gateway's error. */
export async function ask(request: ChatRequest, { onAnswer, ...call }: AskOptions): Promise<ChatAnswer> {
  const body = { ...request, stream: true, stream_options: { include_usage: true } };
  const response = await sendToGateway('chat', body, call);
  if (response.body === null) throw new Error('The answer is empty.');
  const events = response.body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
  let answer = emptyAnswer;
  const reader = events.getReader();
  for (let step = await reader.read(); !step.done; step = await reader.read()) {
    if (step.value.data === '[DONE]') break;
    const chunk = JSON.parse(step.value.data) as Chunk;
    if (chunk.error !== undefined) throw new Error(chunk.error.message);
    answer = grown(answer, chunk);
    onAnswer(answer);
  }
  return answer;
}

function grown(before: ChatAnswer, { choices = [], usage }: Chunk): ChatAnswer {
  const [choice] = choices;
  const reasoning = choice?.delta?.reasoning ?? '';
  const text = choice?.delta?.content ?? '';
  const calls = choice?.delta?.tool_calls ?? [];
  return {
    reasoning: before.reasoning + reasoning,
    text: before.text + text,
    calls: calls.reduce(withDelta, before.calls),
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
