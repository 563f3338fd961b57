import { expect } from 'vitest';

export interface Refusal {
  readonly message: string;
  /** Path of the field that the message begins with. */
  readonly field: string;
  /** Undefined where the contract shows none. */
  readonly code: string | undefined;
}

/** Reads a 400 in the envelope of docs/reference/api.md §2.5; fails the test when it is anything else. */
export async function refusalOf(response: Response): Promise<Refusal> {
  const text = await response.text();
  expect([response.status, response.headers.get('content-type')], text).toEqual([400, 'application/json']);
  const { error, ...more } = JSON.parse(text) as { readonly error: Readonly<Record<string, string>> };
  const { message = '', type, code, ...rest } = error;
  expect({ type, more, rest }).toEqual({ type: 'invalid_request_error', more: {}, rest: {} });
  return { message, code, field: message.slice(0, Math.max(0, message.indexOf(': '))) };
}
