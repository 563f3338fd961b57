import type { ChatSurface } from '../../core/dialect.ts';
import { Failure } from '../../core/failure.ts';
import { isObject } from '../../core/json.ts';

/** A field by which a caller asks for something that a service has kept. Nothing is kept here, and an answer without it would be wrong. */
interface StateField {
  /** What to send instead. */
  readonly why: string;
  /** Whether a value asks for something. Absent: every value does, except none, false, and an empty text, list or object. */
  readonly asks?: (value: unknown) => boolean;
  /** The refusal, in the form by which a client goes on without the field. */
  readonly fallback?: { readonly message: string; readonly details: Readonly<Record<string, string>> };
}

const sendAll = (field: string): StateField => ({
  why: `nothing is stored here: send the whole conversation in ${field}`,
});
const isTrue = (value: unknown): boolean => value === true;

/** Other formats' fields of the same meaning are refused where a client could send them by mistake. */
const stateFields: Readonly<Record<ChatSurface, Readonly<Record<string, StateField>>>> = {
  chat: {
    previous_response_id: sendAll('messages'),
    conversation: sendAll('messages'),
    prompt: { why: 'nothing is stored here: send the prompt itself in messages', asks: isObject },
    background: { why: 'answers are sent to who waits for them, and are not stored', asks: isTrue },
  },
  messages: {
    thread: {
      ...sendAll('messages'),
      asks: (value) => !isObject(value) || value['type'] !== 'create' || 'previous_message_id' in value,
      fallback: {
        message: 'capability_rejected: beta_header:message-threads-2026-08-12',
        details: { error_code: 'thread_unsupported_request' },
      },
    },
    previous_message_id: sendAll('messages'),
    previous_response_id: sendAll('messages'),
    conversation: sendAll('messages'),
    container: { why: 'containers and skills are not kept here: send their content as text, and tools as functions' },
    mcp_servers: { why: 'tools of MCP servers are not run here: send them as functions' },
  },
  responses: {
    previous_response_id: { why: 'nothing is stored here: send the items of the conversation in input' },
    conversation: { why: 'nothing is stored here: send the items of the conversation in input' },
    prompt: { why: 'nothing is stored here: send the prompt itself in instructions and input' },
    background: { why: 'answers are sent to who waits for them, and are not stored' },
  },
};

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === false || value === '') return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

/** Throws `param_not_supported` for a field of the body that needs something stored. */
export function refuseStored(body: unknown, surface: ChatSurface): void {
  if (!isObject(body)) return;
  for (const [name, { why, asks, fallback }] of Object.entries(stateFields[surface])) {
    const value = body[name];
    if (isEmpty(value) || asks?.(value) === false) continue;
    const message = `${name}: ${why}`;
    throw fallback === undefined
      ? new Failure('param_not_supported', message)
      : new Failure('param_not_supported', `${fallback.message}; ${message}`, { details: fallback.details });
  }
}
