import type { Dialect, Surface } from '../../core/dialect.ts';
import { readRequest as readChatRequest } from './chat/read-request.ts';
import {
  createJsonWriter as createChatJsonWriter,
  createStreamWriter as createChatStreamWriter,
  writeError as writeChatError,
} from './chat/write-response.ts';
import { readRequest as readEmbeddingsRequest } from './embeddings/read-request.ts';
import {
  createJsonWriter as createEmbeddingsJsonWriter,
  createStreamWriter as createEmbeddingsStreamWriter,
} from './embeddings/write-response.ts';
import { readRequest as readMessagesRequest } from './messages/read-request.ts';
import {
  createJsonWriter as createMessagesJsonWriter,
  createStreamWriter as createMessagesStreamWriter,
  writeError as writeMessagesError,
} from './messages/write-response.ts';
import { readRequest as readRerankRequest } from './rerank/read-request.ts';
import {
  createJsonWriter as createRerankJsonWriter,
  createStreamWriter as createRerankStreamWriter,
} from './rerank/write-response.ts';
import { readRequest as readResponsesRequest } from './responses/read-request.ts';
import {
  createJsonWriter as createResponsesJsonWriter,
  createStreamWriter as createResponsesStreamWriter,
  writeError as writeResponsesError,
} from './responses/write-response.ts';

/** Chat completions: `POST /v1/chat/completions` (docs/reference/endpoints.md §4.1). */
const chat: Dialect = {
  surface: 'chat',
  idPrefixes: { request: 'chatcmpl-', toolCall: 'call_' },
  keyHeaders: ['authorization'],
  readRequest: readChatRequest,
  createStreamWriter: createChatStreamWriter,
  createJsonWriter: createChatJsonWriter,
  writeError: writeChatError,
};

/** Messages: `POST /v1/messages` (docs/reference/endpoints.md §4.3). */
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

/** Responses: `POST /v1/responses`, where a deployment serves it (docs/reference/responses.md). */
const responses: Dialect = {
  surface: 'responses',
  idPrefixes: { request: 'resp_', toolCall: 'call_' },
  keyHeaders: ['authorization'],
  readRequest: readResponsesRequest,
  createStreamWriter: createResponsesStreamWriter,
  createJsonWriter: createResponsesJsonWriter,
  writeError: writeResponsesError,
};

/** Embeddings: `POST /v1/embeddings`, while the catalog has an embedding model (docs/reference/endpoints.md §4.6). Errors are those of chat. */
const embeddings: Dialect = {
  surface: 'embeddings',
  idPrefixes: { request: 'embd-', toolCall: 'call_' },
  keyHeaders: ['authorization'],
  readRequest: readEmbeddingsRequest,
  createStreamWriter: createEmbeddingsStreamWriter,
  createJsonWriter: createEmbeddingsJsonWriter,
  writeError: writeChatError,
};

/** Rerank: `POST /v1/rerank` or `/v2/rerank`, while the catalog has a rerank model (docs/reference/rerank.md). Errors are those of chat. */
const rerank: Dialect = {
  surface: 'rerank',
  idPrefixes: { request: 'rerank-', toolCall: 'call_' },
  keyHeaders: ['authorization'],
  readRequest: readRerankRequest,
  createStreamWriter: createRerankStreamWriter,
  createJsonWriter: createRerankJsonWriter,
  writeError: writeChatError,
};

/** The wire formats that callers may speak. */
export const dialects: Readonly<Record<Surface, Dialect>> = { chat, messages, responses, embeddings, rerank };
