import * as z from 'zod';
import { messageOf } from '../core/failure.ts';

/** The API server answered, and refused. */
export class ApiError extends Error {
  readonly status: number;
  /** Kubernetes' own word for it: `NotFound`, `Conflict`, `Expired`, … */
  readonly reason: string;

  constructor(status: number, { reason, message }: { readonly reason: string; readonly message: string }) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.reason = reason;
  }
}

/** Whether it was refused with one of these statuses. */
export function isRefusal(error: unknown, ...statuses: readonly number[]): error is ApiError {
  return error instanceof ApiError && statuses.includes(error.status);
}

/** What it is, in one sentence for the log. */
export function sentenceOf(error: unknown): string {
  if (error instanceof ApiError) return `the API server answered ${error.status} (${error.message})`;
  if (error instanceof z.ZodError) return `the API server's answer is not understood: ${z.prettifyError(error)}`;
  if (error instanceof AggregateError && error.message === '') return error.errors.map(String).join('; ');
  return messageOf(error);
}
