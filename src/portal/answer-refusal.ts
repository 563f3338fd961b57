import type { FastifyReply } from 'fastify';
import type { z } from 'zod';
import { DatabaseDown } from '../books/core/administration.ts';
import { Refusal, refusal } from '../books/core/operator-refusals.ts';
import { fieldPath, messageOf } from '../core/failure.ts';
import { faultsOf } from '../control/core/schema-faults.ts';
import type { ErrorObject } from './api/values.ts';

/** Converts anything thrown into a refusal. Unknown errors are 500; their message goes only to the log. */
export function asRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  if (error instanceof DatabaseDown) return refusal('database_down', {}, { retryAfterSeconds: 2, cause: error });
  const status = error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : 500;
  if (!(status >= 400 && status < 500)) return refusal('internal', {}, { cause: error });
  return refusal(frameworkCodes.get(status) ?? 'request_malformed', { reason: messageOf(error) }, { cause: error });
}

/** By the status of a framework error about the request; malformed JSON, for example, has 400. */
const frameworkCodes = new Map<number, 'not_found' | 'body_too_large' | 'content_type_unsupported'>([
  [404, 'not_found'],
  [413, 'body_too_large'],
  [415, 'content_type_unsupported'],
]);

/** The first problem of an invalid request. */
export function asInvalid(error: z.ZodError): Refusal {
  const [fault] = faultsOf(error);
  const field = fieldPath(fault?.path ?? []);
  const expected = fault?.message ?? 'expected another value';
  return field === ''
    ? refusal('request_malformed', { reason: expected })
    : refusal('field_malformed', { field, expected }, { field });
}

/** Answers with the envelope of the service (docs/reference/api.md §2.5). */
export async function answerRefusal(
  reply: FastifyReply,
  { status, code, sentence, field, retryAfterSeconds }: Refusal,
) {
  const type = [400, 404, 409, 413, 415].includes(status) ? 'invalid_request_error' : 'service_error';
  const body: ErrorObject = { error: { message: sentence, type, code, field } };
  if (retryAfterSeconds !== undefined) reply.header('retry-after', String(retryAfterSeconds));
  // Errors have one form, so they skip the schema of the route.
  return reply
    .code(status)
    .type('application/json; charset=utf-8')
    .serializer((value) => JSON.stringify(value))
    .send(body);
}
