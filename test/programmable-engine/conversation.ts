import { fingerprint } from './chance.ts';
import type { ChatMessage } from './chat-message.ts';
import type { ChatRequest } from './chat-request.ts';
import { countTokens } from './tokens.ts';

/** What the answer depends on: what was said, and nothing about how the answer is to be delivered. */
export interface Conversation {
  /** Stable over engines, transports, caps and continuations of the same conversation. */
  readonly print: string;
  readonly messages: readonly ChatMessage[];
}

/** The conversation without the partial assistant message that is to be continued, if one is. */
export function conversationOf(request: ChatRequest, messages: readonly ChatMessage[]): Conversation {
  const said = messages.flatMap((message) => [message.role, message.text, message.calls]);
  return { print: fingerprint([...said, request.seed === undefined ? '' : String(request.seed)]), messages };
}

/** Text of the last message of a role, or an empty one. */
export function lastText(messages: readonly ChatMessage[], role: string): string {
  return messages.findLast((message) => message.role === role)?.text ?? '';
}

/** Tokens of each message in turn, with four of overhead for its markup and 256 for an image. */
export function tokensByMessage(request: ChatRequest): readonly number[] {
  return request.messages.map(
    (message) =>
      4 +
      256 * message.images +
      countTokens(message.text) +
      countTokens(message.reasoning) +
      countTokens(message.calls),
  );
}
