import type { FastifyReply } from 'fastify';
import type { z } from 'zod';
import { DatabaseDown, Refusal } from '../books/core/administration.ts';
import { fieldPath, messageOf } from '../core/failure.ts';
import { faultsOf } from '../control/core/schema-faults.ts';
import type { ErrorObject } from './api/values.ts';

type ErrorStatus = 400 | 401 | 403 | 404 | 409 | 413 | 415 | 429 | 500 | 502 | 503;

/** An error with its HTTP status. The message is for the caller. */
export class PortalError extends Error {
  readonly status: ErrorStatus;
  readonly field: string | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(
    status: ErrorStatus,
    message: string,
    options: {
      readonly field?: string | undefined;
      readonly retryAfterSeconds?: number;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, { cause: options.cause });
    this.name = 'PortalError';
    this.status = status;
    this.field = options.field;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }
}

const refusalStatus = { invalid: 400, 'not-found': 404, conflict: 409 } as const satisfies Record<
  Refusal['kind'],
  ErrorStatus
>;

const frameworkStatuses: readonly ErrorStatus[] = [400, 404, 413, 415];

/** Converts anything thrown into an error with a status. Unknown errors are 500; their message goes only to the log. */
export function asPortalError(error: unknown): PortalError {
  if (error instanceof PortalError) return error;
  if (error instanceof Refusal) {
    const { kind, sentence, field } = error;
    return new PortalError(refusalStatus[kind], sentence, { field });
  }
  if (error instanceof DatabaseDown) {
    const message = 'The database does not answer now. Try again in a moment.';
    return new PortalError(503, message, { retryAfterSeconds: 2, cause: error });
  }
  const status = statusOf(error);
  if (status !== undefined) return new PortalError(status, messageOf(error), { cause: error });
  return new PortalError(500, 'The portal could not do this. Its log says why.', { cause: error });
}

export function noSuchPath(): PortalError {
  return new PortalError(404, 'There is no such path. /api/openapi.json lists those of the API.');
}

/** The first problem of an invalid request. */
export function asInvalid(error: z.ZodError): PortalError {
  const [fault] = faultsOf(error);
  const field = fieldPath(fault?.path ?? []);
  const message = fault?.message ?? 'expected another value';
  return field === '' ? new PortalError(400, message) : new PortalError(400, `${field}: ${message}`, { field });
}

/**
 * The status of a framework error about the request: malformed JSON, a body that is too large. Statuses that the API
 * does not have become 400, because the caller is at fault, not the portal.
 */
function statusOf(error: unknown): ErrorStatus | undefined {
  if (!(error instanceof Error && 'statusCode' in error) || typeof error.statusCode !== 'number') return undefined;
  const { statusCode } = error;
  return frameworkStatuses.find((status) => status === statusCode) ?? (isOfCaller(statusCode) ? 400 : undefined);
}

const isOfCaller = (status: number): boolean => status >= 400 && status < 500;

/** Answers with the envelope of the service (docs/reference/api.md §2.5). */
export async function answerError(reply: FastifyReply, { status, message, field, retryAfterSeconds }: PortalError) {
  const type = [400, 404, 409, 413, 415].includes(status) ? 'invalid_request_error' : 'service_error';
  const body: ErrorObject = { error: { message, type, field } };
  if (retryAfterSeconds !== undefined) reply.header('retry-after', String(retryAfterSeconds));
  // Errors have one form, so they skip the schema of the route.
  return reply
    .code(status)
    .type('application/json; charset=utf-8')
    .serializer((value) => JSON.stringify(value))
    .send(body);
}
