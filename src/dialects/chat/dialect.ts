import type { Dialect } from '../../core/dialect.ts';
import { readRequest } from './read-request.ts';
import { writeError } from './write-error.ts';
import { createJsonWriter, createStreamWriter } from './write-response.ts';

/** Chat completions: `POST /v1/chat/completions` (docs/reference/api.md §4.1). */
export const chat: Dialect = {
  surface: 'chat',
  idPrefixes: { request: 'chatcmpl-', toolCall: 'call_' },
  keyHeaders: ['authorization'],
  ...{ readRequest, createStreamWriter, createJsonWriter, writeError },
};
