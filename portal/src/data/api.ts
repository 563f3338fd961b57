import type { ErrorObject } from '../../../src/portal/api/values.ts';

/** A page of a list. */
export interface Page<Item> {
  readonly data: readonly Item[];
  readonly next_cursor: string | null;
}

/** An error answer of the portal. Status 0: the portal could not be reached. */
export class ApiError extends Error {
  readonly status: number;
  /** The wrong field, such as `budget.limit`, where the error names one. */
  readonly field: string | undefined;

  constructor(status: number, message: string, field?: string) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.field = field;
  }
}

/** Path of the admin API. */
export const apiRoot = '/api/v1';

let csrfToken: string | null = null;

/** Sets the CSRF token, which proves that a change comes from these pages. It comes with the session and stays in memory. */
export function keepCsrfToken(token: string | null): void {
  csrfToken = token;
}

export interface Call {
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
  /** Default: `application/json`. */
  readonly accept?: string;
  /** A new text for each action that must happen once: the portal ignores a second request with it. */
  readonly idempotencyKey?: string;
  /** Headers of the playground. Undefined ones are not sent. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
}

/** Sends a request and returns its answer, of any type. Throws an `ApiError` with the message of the portal. */
export async function send(
  path: string,
  { method = 'GET', body, signal, accept = 'application/json', idempotencyKey, headers: further = {} }: Call = {},
): Promise<Response> {
  const headers = new Headers({ accept });
  if (body !== undefined) headers.set('content-type', 'application/json');
  if (method !== 'GET' && csrfToken !== null) headers.set('x-csrf-token', csrfToken);
  if (idempotencyKey !== undefined) headers.set('idempotency-key', idempotencyKey);
  for (const [name, value] of Object.entries(further)) if (value !== undefined) headers.set(name, value);
  const response = await fetch(`${apiRoot}${path}`, {
    method,
    headers,
    body: body === undefined ? null : JSON.stringify(body),
    signal: signal ?? null,
    credentials: 'same-origin',
  }).catch((error: unknown) => {
    if (signal?.aborted === true) throw error;
    throw new ApiError(0, 'The portal cannot be reached. Is it still running?');
  });
  if (!response.ok) throw await errorOf(response);
  return response;
}

/** Sends a request and returns the JSON of its answer. The schemas in src/portal/api declare its shape. */
export async function call<Answer>(path: string, options: Call = {}): Promise<Answer> {
  const response = await send(path, options);
  const text = await response.text();
  return JSON.parse(text === '' ? 'null' : text) as Answer;
}

async function errorOf(response: Response): Promise<ApiError> {
  const text = await response.text();
  try {
    const { error } = JSON.parse(text) as ErrorObject;
    return new ApiError(response.status, error.message, error.field);
  } catch {
    return new ApiError(response.status, `The portal answered ${response.status} ${response.statusText}`.trimEnd());
  }
}

/** A path with its query. Undefined and empty values are left out. */
export function withQuery(path: string, query: Readonly<Record<string, string | number | undefined>>): string {
  const entries = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  const search = new URLSearchParams(entries.map(([name, value]) => [name, String(value)])).toString();
  return search === '' ? path : `${path}?${search}`;
}

/** 128 random bits in hexadecimal digits. `crypto.randomUUID` exists only on HTTPS and on the loopback. */
export function randomId(): string {
  return Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(16).padStart(8, '0')).join('');
}
