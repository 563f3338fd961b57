import type { Feature } from './capability.ts';
import type { Headers } from './headers.ts';
import { cutText } from './one-line.ts';
import type { ReachedLimit, RefusingLimit } from './refusing-limit.ts';

/** The cause of a failure. It decides what is logged, and which failures count against a route. */
type Blame = 'caller' | 'service' | 'upstream';

export const errorTypes = ['invalid_request_error', 'service_error'] as const;
export type ErrorType = (typeof errorTypes)[number];

interface FailureRow {
  /** HTTP status when nothing was sent yet. */
  readonly status: number;
  /** `error.type` of the envelope. */
  readonly type: ErrorType;
  /** Whether `error.code` is shown to the caller (docs/reference/api.md §7). */
  readonly shown: boolean;
  readonly blame: Blame;
}

const refused = { status: 400, type: 'invalid_request_error', blame: 'caller' } as const;
const limited = { type: 'service_error', shown: false, blame: 'caller' } as const;

/**
 * Every way a request can fail, one row each (docs/reference/api.md §7).
 * A test compares this table with the one in the documentation.
 */
export const failures = {
  not_found: { status: 404, type: 'invalid_request_error', shown: false, blame: 'caller' },
  unauthenticated: { ...limited, status: 401 },
  insufficient_funds: { ...limited, status: 402 },
  suspended: { ...limited, status: 403 },
  body_too_large: { ...limited, status: 413 },
  unsupported_encoding: { ...refused, status: 415, shown: false },
  rate_limited: { ...limited, status: 429 },
  invalid_request: { ...refused, shown: false },
  model_not_found: { ...refused, shown: true },
  variant_not_supported: { ...refused, shown: true },
  web_search_name_reserved: { ...refused, shown: true },
  web_search_unavailable: { ...refused, shown: true },
  modality_not_supported: { ...refused, shown: true },
  context_length_exceeded: { ...refused, shown: true },
  reasoning_not_disableable: { ...refused, shown: true },
  tools_not_supported: { ...refused, shown: true },
  response_format_not_supported: { ...refused, shown: true },
  param_not_supported: { ...refused, shown: true },
  param_combination_not_supported: { ...refused, shown: true },
  attempts_failed: { status: 502, type: 'service_error', shown: false, blame: 'upstream' },
  no_capacity: { status: 503, type: 'service_error', shown: false, blame: 'service' },
  overloaded: { status: 503, type: 'service_error', shown: false, blame: 'service' },
  internal: { status: 503, type: 'service_error', shown: false, blame: 'service' },
  stream_interrupted: { status: 200, type: 'service_error', shown: true, blame: 'upstream' },
  upstream_incomplete: { status: 200, type: 'service_error', shown: true, blame: 'upstream' },
} as const satisfies Record<string, FailureRow>;

export type FailureCode = keyof typeof failures;

export function isFailureCode(code: unknown): code is FailureCode {
  return typeof code === 'string' && Object.hasOwn(failures, code);
}

/** A refusal or fault with a code from the table. The message is safe to show; the cause is for the log only. */
export class Failure extends Error {
  readonly code: FailureCode;
  /** Whole seconds to wait, for a `Retry-After` header. */
  readonly retryAfterSeconds: number | undefined;
  /** Further headers of the answer. */
  readonly headers: Headers;
  /**
   * Parts of the request that the failure is about, if the message does not name them. The dialect adds the names that
   * its callers use.
   */
  readonly about: readonly Feature[];
  /** The limit that refuses. Undefined: no limit does. */
  readonly limit: RefusingLimit | undefined;
  /** The budgets, or the limits in tokens, behind `limit`. Undefined: it is another limit. */
  readonly reached: readonly ReachedLimit[] | undefined;
  /** Members of the error object by which programs of this surface decide what to do. */
  readonly details: Readonly<Record<string, string>> | undefined;

  constructor(
    code: FailureCode,
    message: string,
    options: {
      readonly cause?: unknown;
      readonly retryAfterSeconds?: number;
      readonly headers?: Headers;
      readonly about?: readonly Feature[];
      readonly limit?: RefusingLimit;
      readonly reached?: readonly ReachedLimit[];
      readonly details?: Readonly<Record<string, string>> | undefined;
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'Failure';
    this.code = code;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.headers = options.headers ?? [];
    this.about = options.about ?? [];
    this.limit = options.limit;
    this.reached = options.reached;
    this.details = options.details;
  }

  get row(): FailureRow {
    return failures[this.code];
  }
}

export const bodyTooLarge = (limitBytes: number): Failure =>
  new Failure('body_too_large', `Request body is over ${limitBytes} bytes.`);

/** The error for a caller whose answer had begun (docs/reference/api.md §7.3), by the kind of its end. */
export const codeOfOutcome: Partial<Readonly<Record<string, FailureCode>>> = {
  interrupted: 'stream_interrupted',
  incomplete: 'upstream_incomplete',
};

/** The form of a failure in the ledger: its code, why no route answered, and what it is about. */
export function failureName({ code, about }: Pick<Failure, 'code' | 'about'>, refusedFor = '-'): string {
  return [code, refusedFor, ...about].join(' ').replace(/ -$/, '');
}

/** The error object of the envelope (docs/reference/api.md §2.5). */
interface ErrorBody {
  readonly message: string;
  readonly type: string;
  readonly code?: string;
  readonly details?: Readonly<Record<string, string>>;
}

/** Maximum length of a message, UTF-16 units: a caller's text cannot make the answer large, whichever check repeats it. */
const maxMessage = 4_096;

/**
 * `nameOf` returns the caller's name of a part of the request. The message begins with the names of the parts that the
 * failure is about.
 */
export function errorBody(failure: Failure, nameOf: (feature: Feature) => string): ErrorBody {
  const { type, shown } = failure.row;
  const names = failure.about.map(nameOf).join(' and ');
  const message = cutText(names === '' ? failure.message : `${names}: ${failure.message}`, maxMessage);
  const details = failure.details === undefined ? {} : { details: failure.details };
  return shown ? { message, type, code: failure.code, ...details } : { message, type, ...details };
}

/** Turns anything thrown into a Failure, so that unknown errors become ours in one place. */
export function asFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  return new Failure('internal', 'The service could not handle this request. Retry with backoff.', { cause: error });
}

/** The message of something thrown, for a log line or a sentence. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** Maximum length of a field name in a message, UTF-16 units: a caller's own keys may have any length. */
const maxFieldName = 64;

/** Writes a path the way an author would: `spec.routes[0].backend`, `metadata.labels["a.b/c"]`. */
export function fieldPath(path: readonly PropertyKey[]): string {
  return path
    .map((part, index) => {
      if (typeof part === 'number') return `[${part}]`;
      const name = cutText(String(part), maxFieldName);
      if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) return `[${JSON.stringify(name)}]`;
      return index === 0 ? name : `.${name}`;
    })
    .join('');
}
