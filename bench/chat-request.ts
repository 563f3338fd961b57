import type { AnswerShape } from './answers.ts';
import { renderAnswer } from './answers.ts';
import type { Expectation } from './verify-answer.ts';

export interface ChatRequestOptions {
  readonly path: string;
  readonly model: string;
  readonly stream: boolean;
  readonly key?: string;
}

/** A chat completion request as bytes: half a kilobyte of conversation, as an agent's first turn is. */
export function chatRequest({ path, model, stream, key }: ChatRequestOptions): Buffer {
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
  const head = [
    `POST ${path}/chat/completions HTTP/1.1`,
    'host: bench.test',
    'content-type: application/json',
    ...(key === undefined ? [] : [`authorization: Bearer ${key}`]),
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`);
}

/** What must come back for it from an engine that answers in this shape. */
export function expectedOf(shape: AnswerShape, stream: boolean): Expectation {
  const { text, reasoning } = renderAnswer(shape);
  return { stream, text, reasoning };
}
