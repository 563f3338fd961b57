import { EventSourceParserStream } from 'eventsource-parser/stream';
import { send, withQuery } from './api.ts';

/** A question of the playground. */
export interface ChatQuestion {
  readonly model: string;
  readonly messages: readonly { readonly role: 'system' | 'user' | 'assistant'; readonly content: string }[];
  readonly temperature: number | undefined;
  readonly reasoning_effort: string | undefined;
}

/** An answer as far as it has arrived. */
export interface ChatAnswer {
  readonly reasoning: string;
  readonly text: string;
  /** Time from the question to the first piece of reasoning or text, ms. */
  readonly firstTokenMs: number | undefined;
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

interface Chunk {
  readonly choices?: readonly {
    readonly delta?: { readonly content?: string | null; readonly reasoning?: string | null };
    readonly finish_reason?: string | null;
  }[];
  readonly usage?: ChatUsage | null;
  readonly error?: { readonly message: string };
}

export const emptyAnswer: ChatAnswer = {
  ...{ reasoning: '', text: '', firstTokenMs: undefined, finish: undefined, usage: undefined },
};

interface AskOptions {
  /** Id of the workspace that pays. */
  readonly workspace: string;
  readonly signal: AbortSignal;
  readonly onAnswer: (answer: ChatAnswer) => void;
}

/** Sends a question through the edge, as a client does, and reports the answer as it grows. Throws the gateway's error. */
export async function ask(question: ChatQuestion, { workspace, signal, onAnswer }: AskOptions): Promise<void> {
  const startedMs = performance.now();
  const response = await send(withQuery('/playground/chat', { workspace }), {
    ...{ method: 'POST', accept: 'text/event-stream', signal },
    body: { ...question, stream: true, stream_options: { include_usage: true } },
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
}

function grown(before: ChatAnswer, { choices = [], usage }: Chunk, nowMs: number): ChatAnswer {
  const [choice] = choices;
  const reasoning = choice?.delta?.reasoning ?? '';
  const text = choice?.delta?.content ?? '';
  const hasOutput = reasoning !== '' || text !== '';
  return {
    reasoning: before.reasoning + reasoning,
    text: before.text + text,
    firstTokenMs: before.firstTokenMs ?? (hasOutput ? nowMs : undefined),
    finish: choice?.finish_reason ?? before.finish,
    usage: usage ?? before.usage,
  };
}
