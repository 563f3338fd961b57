import type { Dialect } from '../../core/dialect.ts';
import { readRequest } from './read-request.ts';
import { writeError } from './write-error.ts';
import { createJsonWriter, createStreamWriter } from './write-response.ts';

/** Messages: `POST /v1/messages` (docs/reference/api.md §4.3). */
export const messages: Dialect = {
  surface: 'messages',
  idPrefixes: { request: 'msg_', toolCall: 'toolu_' },
  requestIdHeader: 'request-id',
  keyHeaders: ['x-api-key', 'authorization'],
  ...{ readRequest, createStreamWriter, createJsonWriter, writeError },
};
