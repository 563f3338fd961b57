import type { Dialect, Surface } from '../../core/dialect.ts';
import { Failure } from '../../core/failure.ts';
import { readRequest as readChat } from './chat/read-request.ts';
import * as chat from './chat/write-response.ts';
import { readRequest as readEmbeddings } from './embeddings/read-request.ts';
import { createJsonWriter as createEmbeddingsWriter } from './embeddings/write-response.ts';
import { readRequest as readMessages } from './messages/read-request.ts';
import * as messages from './messages/write-response.ts';
import { readRequest as readRerank } from './rerank/read-request.ts';
import { createJsonWriter as createRerankWriter } from './rerank/write-response.ts';
import { readRequest as readResponses } from './responses/read-request.ts';
import * as responses from './responses/write-response.ts';

/** For surfaces whose requests cannot ask for a stream. Their errors are those of chat. */
const unstreamed = {
  createStreamWriter: () => {
    throw new Failure('internal', 'Only answers of chat are streamed.');
  },
  writeError: chat.writeError,
};

/** The wire formats that callers may speak. */
export const dialects: Readonly<Record<Surface, Dialect>> = {
  /** Chat completions: `POST /v1/chat/completions` (docs/reference/endpoints.md §4.1). */
  chat: {
    surface: 'chat',
    idPrefixes: { request: 'chatcmpl-', toolCall: 'call_' },
    keyHeaders: ['authorization'],
    readRequest: readChat,
    createStreamWriter: chat.createStreamWriter,
    createJsonWriter: chat.createJsonWriter,
    writeError: chat.writeError,
  },
  /** Messages: `POST /v1/messages` (docs/reference/endpoints.md §4.3). */
  messages: {
    surface: 'messages',
    idPrefixes: { request: 'msg_', toolCall: 'toolu_' },
    requestIdHeader: 'request-id',
    keyHeaders: ['x-api-key', 'authorization'],
    readRequest: readMessages,
    createStreamWriter: messages.createStreamWriter,
    createJsonWriter: messages.createJsonWriter,
    writeError: messages.writeError,
  },
  /** Responses: `POST /v1/responses`, where a deployment serves it (docs/reference/responses.md). */
  responses: {
    surface: 'responses',
    idPrefixes: { request: 'resp_', toolCall: 'call_' },
    keyHeaders: ['authorization'],
    readRequest: readResponses,
    createStreamWriter: responses.createStreamWriter,
    createJsonWriter: responses.createJsonWriter,
    writeError: responses.writeError,
  },
  /** Embeddings: `POST /v1/embeddings`, while the catalog has an embedding model (docs/reference/endpoints.md §4.6). */
  embeddings: {
    surface: 'embeddings',
    idPrefixes: { request: 'embd-', toolCall: 'call_' },
    keyHeaders: ['authorization'],
    readRequest: readEmbeddings,
    createJsonWriter: createEmbeddingsWriter,
    ...unstreamed,
  },
  /** Rerank: `POST /v1/rerank` or `/v2/rerank`, while the catalog has a rerank model (docs/reference/rerank.md). */
  rerank: {
    surface: 'rerank',
    idPrefixes: { request: 'rerank-', toolCall: 'call_' },
    keyHeaders: ['authorization'],
    readRequest: readRerank,
    createJsonWriter: createRerankWriter,
    ...unstreamed,
  },
};
