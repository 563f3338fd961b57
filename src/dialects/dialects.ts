import type { Dialect, Surface } from '../core/dialect.ts';
import { readRequest as readChatRequest } from './chat/read-request.ts';
import {
  createJsonWriter as createChatJsonWriter,
  createStreamWriter as createChatStreamWriter,
  writeError as writeChatError,
} from './chat/write-response.ts';
import { readRequest as readMessagesRequest } from './messages/read-request.ts';
import {
  createJsonWriter as createMessagesJsonWriter,
  createStreamWriter as createMessagesStreamWriter,
  writeError as writeMessagesError,
} from './messages/write-response.ts';

/** Chat completions: `POST /v1/chat/completions` (docs/reference/api.md §4.1). */
const chat: Dialect = {
  surface: 'chat',
  idPrefixes: { request: 'chatcmpl-', toolCall: 'call_' },
  keyHeaders: ['authorization'],
  readRequest: readChatRequest,
  createStreamWriter: createChatStreamWriter,
  createJsonWriter: createChatJsonWriter,
  writeError: writeChatError,
};

/** Messages: `POST /v1/messages` (docs/reference/api.md §4.3). */
const messages: Dialect = {
  surface: 'messages',
  idPrefixes: { request: 'msg_', toolCall: 'toolu_' },
  requestIdHeader: 'request-id',
  keyHeaders: ['x-api-key', 'authorization'],
  readRequest: readMessagesRequest,
  createStreamWriter: createMessagesStreamWriter,
  createJsonWriter: createMessagesJsonWriter,
  writeError: writeMessagesError,
};

/** The wire formats that callers may speak. */
export const dialects: Readonly<Record<Surface, Dialect>> = { chat, messages };
