import type { Behaviour } from './behaviour.ts';
import { parsedOr } from './json-value.ts';

/** What went wrong, in the words of the engine. */
export interface EngineError {
  readonly status: number;
  readonly message: string;
  readonly type: string;
  readonly param: string | null;
}

export interface ErrorReply {
  readonly contentType: string;
  readonly body: string;
}

/** The body of an error reply in the shape asked for. */
export function errorReply(error: EngineError, behaviour: Behaviour): ErrorReply {
  return behaviour.errorJson === undefined ? shapedReply(error, behaviour.errorBody) : json(behaviour.errorJson);
}

const json = (value: unknown): ErrorReply => ({ contentType: 'application/json', body: JSON.stringify(value) });

function shapedReply(error: EngineError, shape: Behaviour['errorBody']): ErrorReply {
  const detail = { message: error.message, type: error.type, param: error.param, code: error.status };
  switch (shape) {
    case undefined:
    case 'engine':
      return json({ error: detail });
    case 'flat':
      return json({ object: 'error', ...detail });
    case 'detail':
      return json({ detail: error.message });
    case 'string':
      return json({ error: error.message });
    case 'array':
      return json([{ error: { ...detail, status: 'INTERNAL' } }]);
    case 'text':
      return { contentType: 'text/plain', body: error.message };
    case 'html':
      return {
        contentType: 'text/html',
        body: `<html><head><title>${error.status}</title></head><body><h1>${error.message}</h1><hr>nginx</body></html>\n`,
      };
    case 'empty':
      return { contentType: 'application/json', body: '' };
    case 'not-json':
      return { contentType: 'application/json', body: `{"error": {"message": ${error.message}` };
  }
}

/** The error that is sent for a status, in the style of the engines: it names the engine, as theirs do. */
export function errorOfStatus(status: number, names: { readonly engine: string; readonly model: string }): EngineError {
  const known = statusTexts[status] ?? { type: 'InternalServerError', text: 'EngineCore encountered an issue' };
  return {
    status,
    message: `${known.text} (demo-engine ${names.engine}, model ${names.model})`,
    type: known.type,
    param: null,
  };
}

/** The JSON of an error event inside a stream. */
export function errorEvent(behaviour: Behaviour, names: { readonly engine: string; readonly model: string }): string {
  const reply = errorReply(errorOfStatus(500, names), behaviour);
  return JSON.stringify(parsedOr(reply.body));
}

const statusTexts: { readonly [status: number]: { readonly type: string; readonly text: string } } = {
  400: { type: 'BadRequestError', text: 'The request could not be understood' },
  401: { type: 'AuthenticationError', text: 'Incorrect API key provided' },
  402: { type: 'insufficient_quota', text: 'Insufficient balance' },
  403: { type: 'PermissionDeniedError', text: 'Access to this model is denied' },
  404: { type: 'NotFoundError', text: 'The model does not exist' },
  408: { type: 'TimeoutError', text: 'The request timed out' },
  413: { type: 'RequestTooLargeError', text: 'The request is too large' },
  422: { type: 'UnprocessableEntityError', text: 'The request failed validation' },
  429: { type: 'RateLimitError', text: 'Rate limit reached' },
  502: { type: 'bad_gateway', text: 'Bad gateway' },
  503: { type: 'ServiceUnavailableError', text: 'The engine is loading or out of capacity' },
  504: { type: 'TimeoutError', text: 'Gateway timeout' },
  529: { type: 'overloaded_error', text: 'Overloaded' },
};
