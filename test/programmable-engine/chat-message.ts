import { takeDirectives } from './directive-text.ts';
import type { BehaviourInput } from './behaviour.ts';
import { arrayOr, isJsonObject, type JsonObject, stringOr } from './json-value.ts';
import { RequestRefusal } from './request-refusal.ts';

/** One message of a conversation, as far as the programmable engine understands it. */
export interface ChatMessage {
  readonly role: string;
  /** Text parts joined; directives of user messages taken out. */
  readonly text: string;
  readonly images: number;
  readonly reasoning: string;
  /** Names and arguments of replayed tool calls. */
  readonly calls: string;
  readonly marks: { readonly prefix: boolean; readonly partial: boolean };
  readonly asked: BehaviourInput | undefined;
}

const roles = ['system', 'developer', 'user', 'assistant', 'tool', 'function'];

/** Reads `messages`. Throws a RequestRefusal for what a real engine would refuse too. */
export function readMessages(value: unknown): readonly ChatMessage[] {
  if (!Array.isArray(value) || value.length === 0) {
    throw new RequestRefusal('messages must be a list with at least one message', { param: 'messages' });
  }
  return value.map((message: unknown, index) => readMessage(message, `messages[${index}]`));
}

function readMessage(value: unknown, path: string): ChatMessage {
  if (!isJsonObject(value)) throw new RequestRefusal(`${path} must be an object`, { param: path });
  const role = value['role'];
  if (typeof role !== 'string' || !roles.includes(role)) {
    throw new RequestRefusal(`${path}.role must be one of ${roles.join(', ')}`, { param: `${path}.role` });
  }
  const parts = contentParts(value['content'], `${path}.content`);
  const written = parts.map((part) => stringOr(part['text'], '')).join('');
  const { text, asked } = role === 'user' ? takeDirectives(written) : { text: written, asked: undefined };
  return {
    role: role === 'developer' ? 'system' : role,
    text,
    images: parts.filter((part) => part['type'] === 'image_url').length,
    reasoning: stringOr(value['reasoning_content'], stringOr(value['reasoning'], '')),
    calls: arrayOr(value['tool_calls'])
      .map((call) => JSON.stringify(call))
      .join(''),
    marks: { prefix: value['prefix'] === true, partial: value['partial'] === true },
    asked,
  };
}

function contentParts(content: unknown, path: string): readonly JsonObject[] {
  if (content === undefined || content === null) return [];
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  if (!Array.isArray(content)) throw new RequestRefusal(`${path} must be a string or a list`, { param: path });
  return content.map((part: unknown, index) => {
    if (isJsonObject(part) && typeof part['type'] === 'string') return part;
    throw new RequestRefusal(`${path}[${index}] must be a content part`, { param: path });
  });
}
