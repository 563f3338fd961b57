import type { AnswerShape } from './answers.ts';
import { renderAnswer } from './answers.ts';
import type { Prompt, Surface } from './prompts.ts';
import type { Expectation } from './verify-answer.ts';

export interface ChatRequestOptions {
  readonly path: string;
  readonly model: string;
  readonly stream: boolean;
  readonly key?: string | undefined;
  /** Absent: a short one. */
  readonly prompt?: Prompt | undefined;
}

/** A request as undici takes it; plain data, so that it can be handed to a thread. */
export interface ChatRequest {
  /** Absent: POST. */
  readonly method?: 'GET';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Each request has another body, of these conversations. */
  readonly conversations?: { readonly model: string; readonly prompt: Prompt };
  /** The surface of the answer. Absent: chat completions. */
  readonly surface?: Surface;
}

const surfacePaths: Readonly<Record<Surface, string>> = {
  chat: '/chat/completions',
  messages: '/messages',
  responses: '/responses',
};

/** A request without its prompt is half a kilobyte of chat, as an agent's first turn is. */
export function chatRequest({ path, model, stream, key, prompt }: ChatRequestOptions): ChatRequest {
  const authorization = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const headers = { 'content-type': 'application/json', ...authorization };
  if (prompt !== undefined) {
    const { surface } = prompt;
    return { path: `${path}${surfacePaths[surface]}`, headers, body: '', conversations: { model, prompt }, surface };
  }
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
  return { path: `${path}${surfacePaths.chat}`, headers, body };
}

/** The request as the engine takes it: the engine has one surface, and reads no prompt. */
export function requestOfEngine(options: ChatRequestOptions): ChatRequest {
  return { ...chatRequest(options), path: `${options.path}${surfacePaths.chat}`, surface: 'chat' };
}

/** What must come back for it from an engine that answers in this shape. */
export function expectedOf(shape: AnswerShape, stream: boolean, surface: Surface = 'chat'): Expectation {
  const { text, reasoning } = renderAnswer(shape);
  return { stream, surface, text, reasoning };
}
