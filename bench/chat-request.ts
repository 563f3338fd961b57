import type { AnswerShape } from './answers.ts';
import { renderAnswer } from './answers.ts';
import type { Expectation } from './verify-answer.ts';

export interface ChatRequestOptions {
  readonly path: string;
  readonly model: string;
  readonly stream: boolean;
  readonly key?: string;
}

/** A request as undici takes it; plain data, so that it can be handed to a thread. */
export interface ChatRequest {
  /** Absent: POST. */
  readonly method?: 'GET';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A chat completion request: half a kilobyte of conversation, as an agent's first turn is. */
export function chatRequest({ path, model, stream, key }: ChatRequestOptions): ChatRequest {
  const body = JSON.stringify({
    model,
    messages: [
      {
        role: 'system',
        content: 'You are a careful assistant. Answer briefly, and say so when you are not sure. '.repeat(3),
      },
      {
        role: 'user',
        content: 'Which of the two readings of the measurement is right, and what would decide between them?',
      },
    ],
    temperature: 0.7,
    max_tokens: 4096,
    stream,
    ...(stream ? { stream_options: { include_usage: true } } : {}),
  });
  const authorization = key === undefined ? {} : { authorization: `Bearer ${key}` };
  return {
    path: `${path}/chat/completions`,
    headers: { 'content-type': 'application/json', ...authorization },
    body,
  };
}

/** What must come back for it from an engine that answers in this shape. */
export function expectedOf(shape: AnswerShape, stream: boolean): Expectation {
  const { text, reasoning } = renderAnswer(shape);
  return { stream, text, reasoning };
}
