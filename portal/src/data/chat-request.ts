import type { ToolCall } from './chat.ts';

/** An image from the reader's machine. */
export interface ChatImage {
  readonly name: string;
  readonly bytes: number;
  /** `data:image/png;base64,…` */
  readonly url: string;
}

export interface Question {
  readonly text: string;
  readonly images: readonly ChatImage[];
}

/** A question that was asked, and what the model said, if that is whole. */
export interface PastTurn {
  readonly question: Question;
  readonly text: string;
  readonly calls: readonly ToolCall[];
}

/** Settings of the reader. Undefined: not sent. */
export interface ChatSettings {
  readonly system?: string | undefined;
  readonly temperature?: number | undefined;
  readonly maxTokens?: number | undefined;
  readonly stops?: readonly string[] | undefined;
  readonly effort?: string | undefined;
  readonly tools?: readonly unknown[] | undefined;
}

type Part =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image_url'; readonly image_url: { readonly url: string } };

interface SentCall {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
}

type ChatMessage =
  | { readonly role: 'system'; readonly content: string }
  | { readonly role: 'user'; readonly content: string | readonly Part[] }
  | { readonly role: 'assistant'; readonly content: string; readonly tool_calls: readonly SentCall[] | undefined }
  | { readonly role: 'tool'; readonly tool_call_id: string; readonly content: string };

/** The body of a chat completion, as in docs/reference/endpoints.md §4.1. */
export interface ChatRequest {
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  readonly temperature: number | undefined;
  readonly max_completion_tokens: number | undefined;
  readonly stop: readonly string[] | undefined;
  readonly reasoning_effort: string | undefined;
  readonly tools: readonly unknown[] | undefined;
}

interface Asked {
  readonly model: string;
  readonly settings: ChatSettings;
  readonly past: readonly PastTurn[];
  readonly question: Question;
}

/** The request of a question after the conversation with a model so far. */
export function chatRequest({ model, settings, past, question }: Asked): ChatRequest {
  const { system, temperature, maxTokens, stops, effort, tools } = settings;
  return {
    model,
    messages: [
      ...(system === undefined ? [] : [{ role: 'system', content: system } as const]),
      ...past.flatMap((turn, index) => [...asked(turn.question, past[index - 1]), ...answered(turn)]),
      ...asked(question, past.at(-1)),
    ],
    ...{ temperature, max_completion_tokens: maxTokens, stop: stops, reasoning_effort: effort, tools },
  };
}

/** After calls of tools, a message of the reader is the result of each call. Models refuse any other message there. */
function asked({ text, images }: Question, before: PastTurn | undefined): readonly ChatMessage[] {
  const calls = before?.calls ?? [];
  const results = calls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: text }) as const);
  const pictures = images.map(({ url }) => ({ type: 'image_url', image_url: { url } }) as const);
  if (calls.length > 0) return pictures.length === 0 ? results : [...results, { role: 'user', content: pictures }];
  return [{ role: 'user', content: pictures.length === 0 ? text : [{ type: 'text', text }, ...pictures] }];
}

/** An answer that failed before its first word is no part of the conversation. */
function answered({ text, calls }: PastTurn): readonly ChatMessage[] {
  if (text === '' && calls.length === 0) return [];
  const sent = calls.map(({ id, name, arguments: given }): SentCall => ({
    ...{ id, type: 'function' },
    function: { name, arguments: given },
  }));
  return [{ role: 'assistant', content: text, tool_calls: sent.length === 0 ? undefined : sent }];
}
