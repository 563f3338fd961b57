import { surfaces } from './dialect.ts';
import { countSources, type Money, type Usage } from './money.ts';

/**
 * How a request ended. `service-lost`: our own Envoy or its connection to the service broke while the caller was still
 * there. The ledger stores the position, so a new kind goes to the end.
 */
export const outcomeKinds = ['completed', 'cancelled', 'interrupted', 'incomplete', 'failed', 'service-lost'] as const;
export type OutcomeKind = (typeof outcomeKinds)[number];

/**
 * One field of a settled request. Everything that reads or writes settled requests is derived from the table below: the type
 * `SettledRequest`, records of the journal, columns of the table `requests`, the public form, and the live events of the portal.
 */
type FieldSpec = {
  /** Name in records of the journal and of the column. */
  readonly name: string;
  /** Name in the public form. Undefined: the same. */
  readonly shown?: string;
  /** Description and example for the API reference. */
  readonly about?: string;
  readonly example?: string;
  /**
   * Written at the end of a journal record. Records are read by name. So this field only makes the bytes equal to the
   * records of older versions.
   */
  readonly isLastInJournal?: true;
} & (
  | { readonly kind: 'text'; readonly stored: 'packed'; readonly optional?: true }
  /** Whole milliseconds since the Unix epoch. */
  | { readonly kind: 'moment'; readonly stored: 'packed' }
  /** One of a few names. */
  | { readonly kind: 'name'; readonly names: readonly string[]; readonly stored: Bits }
  | { readonly kind: 'flag'; readonly stored: Bits }
  /** A whole number: tokens, attempts, milliseconds. Absent is not zero. */
  | { readonly kind: 'count'; readonly stored: Bits | IntegerColumn; readonly optional?: true }
  | { readonly kind: 'money'; readonly stored: { readonly column: 'bigint' } }
);

// Where the table `requests` keeps a field. `packed`: in a column that several fields share, or as the number of a name;
// `src/books/ledger/stored-request.ts` packs and unpacks it.

/** In bits of the column `traits`, 15 in all: the position of a name, a flag, or a count. A larger count is the largest that fits; 0 stands for absent. */
interface Bits {
  readonly shift: number;
  readonly bits: number;
}

/** In a column of its own, −1 where it is absent. `src/books/databases/migrations.ts` adds the column. */
interface IntegerColumn {
  readonly column: 'smallint' | 'integer';
}

/** A text that shares a column with others, or that has a number. */
const packed = { kind: 'text', stored: 'packed' } as const;

/** A key is the path of the field in `SettledRequest`. The order is that of the public form; a new field goes to the end. */
const table = {
  /** Our id of the request, unique: settlement is idempotent by it. */
  requestId: { name: 'request_id', shown: 'id', ...packed, example: 'chatcmpl-AZgx2mY3cQWm0v0l6m2sQw' },
  /** The caller's or Envoy's `x-request-id`, for correlation only. */
  correlationId: { name: 'correlation_id', ...packed, about: 'The `x-request-id` of the caller.' },
  workspaceId: { name: 'workspace_id', shown: 'workspace', ...packed, about: 'Name of the workspace.' },
  keyId: { name: 'key_id', shown: 'key', ...packed, about: 'Id of a key.', example: 'key_2c26b46b68ffc68ff99b' },
  modelId: { name: 'model_id', shown: 'model', ...packed, about: 'Id of a model.', example: 'qwen/qwen3-8b' },
  /** Route that delivered, for operators; absent when none did. */
  routeId: {
    name: 'route_id',
    shown: 'route',
    ...packed,
    optional: true,
    about: 'Which route delivered; null when none did, and for members.',
  },
  surface: { name: 'surface', kind: 'name', names: surfaces, stored: { shift: 4, bits: 4 } },
  stream: { name: 'stream', kind: 'flag', stored: { shift: 10, bits: 1 } },
  kind: { name: 'kind', shown: 'outcome', kind: 'name', names: outcomeKinds, stored: { shift: 0, bits: 4 } },
  'usage.promptTokens': { name: 'prompt_tokens', kind: 'count', stored: { column: 'integer' } },
  'usage.completionTokens': { name: 'completion_tokens', kind: 'count', stored: { column: 'integer' } },
  'usage.cachedTokens': { name: 'cached_tokens', kind: 'count', optional: true, stored: { column: 'integer' } },
  'usage.reasoningTokens': { name: 'reasoning_tokens', kind: 'count', optional: true, stored: { column: 'integer' } },
  /** A request that costs nothing has `engine`: its counts are not estimated. */
  countedBy: { name: 'counted_by', kind: 'name', names: countSources, stored: { shift: 8, bits: 2 } },
  'usage.webSearches': { name: 'web_searches', kind: 'count', optional: true, stored: { column: 'smallint' } },
  cost: { name: 'cost', kind: 'money', stored: { column: 'bigint' } },
  attempts: { name: 'attempts', kind: 'count', stored: { column: 'smallint' } },
  /**
   * The number of routes on which the attempts were made; further attempts used other endpoints of the same backend.
   * Absent: no attempt was made.
   */
  routes: { name: 'routes', kind: 'count', optional: true, stored: { shift: 11, bits: 4 }, isLastInJournal: true },
  startedAt: { name: 'started_at', kind: 'moment', stored: 'packed' },
  firstTokenMs: { name: 'first_token_ms', kind: 'count', optional: true, stored: { column: 'integer' } },
  durationMs: { name: 'duration_ms', kind: 'count', stored: { column: 'integer' } },
  /** The tags of the request, as `readTags` of `tags.ts` returns them. */
  tags: {
    name: 'tags',
    ...packed,
    optional: true,
    about: 'The request’s tags (`x-weir-tags`), separated by commas.',
    example: 'app=crawler,team=search',
  },
  /** The fault of the last failed attempt, if the request failed. `faultName` writes it. */
  fault: {
    name: 'fault',
    ...packed,
    optional: true,
    about: 'The last failed attempt’s fault, if the request failed: its kind, and its HTTP status if it has one.',
    example: 'status 503',
  },
  /** The error of the caller, if the request failed. `failureName` writes it, `src/telemetry/core/ledger-story.ts` reads it. */
  failure: {
    name: 'failure',
    ...packed,
    optional: true,
    about:
      'The error code that the caller got, if the request failed; then the reason why no route answered (`-`: unknown), and the request fields that the error names.',
    example: 'invalid_request bad-request',
  },
  /** The attempts of a request that failed. `src/telemetry/core/attempt-log.ts` writes and reads it. */
  attemptLog: {
    name: 'attempt_log',
    ...packed,
    optional: true,
    about:
      'The attempts of a failed request, in the ledger’s format; null for members. `weir explain` and the request’s story show them.',
    example: '001 vllm-a 10.0.3.7:8000 2 - 15 status/500/other',
  },
} as const satisfies Readonly<Record<string, FieldSpec>> & Readonly<Record<`usage.${keyof Usage}`, FieldSpec>>;

export type SettledTable = typeof table;

type ValueOf<Spec extends FieldSpec> = Spec extends { readonly names: readonly (infer Name)[] }
  ? Name
  : { text: string; name: never; flag: boolean; count: number; moment: number; money: Money }[Spec['kind']];

type FieldsOf<Specs extends Readonly<Record<string, FieldSpec>>> = {
  readonly [Key in keyof Specs as Specs[Key] extends { readonly optional: true } ? never : Key]: ValueOf<Specs[Key]>;
} & {
  readonly [Key in keyof Specs as Specs[Key] extends { readonly optional: true } ? Key : never]?:
    | ValueOf<Specs[Key]>
    | undefined;
};

/** A request as the ledger keeps it: counts, ids, names and times; never content. `usage` is what is billed. */
export type SettledRequest = FieldsOf<Omit<SettledTable, `usage.${string}`>> & { readonly usage: Usage };

interface FieldOf<Kind extends FieldSpec['kind'], Stored, Value> {
  readonly kind: Kind;
  readonly name: string;
  readonly shown: string;
  readonly optional: boolean;
  readonly stored: Stored;
  readonly about: string | undefined;
  readonly example: string | undefined;
  readonly isLastInJournal: boolean;
  readonly isUsage: boolean;
  /** Its name in the request, or in `usage`. */
  readonly key: string;
  readonly read: (request: SettledRequest) => Value;
}

/** A field that `src/books/ledger/stored-request.ts` packs. */
export type PackedKey = {
  [Key in keyof SettledTable]: SettledTable[Key]['stored'] extends 'packed' ? Key : never;
}[keyof SettledTable];

/** A field of the table, and how it is read. */
export type SettledField =
  | (FieldOf<'text', 'packed', string | undefined> & { readonly key: PackedKey })
  | (FieldOf<'moment', 'packed', number> & { readonly key: PackedKey })
  | (FieldOf<'name', Bits, string> & { readonly names: readonly string[] })
  | FieldOf<'flag', Bits, boolean>
  | FieldOf<'count', Bits | IntegerColumn, number | undefined>
  | FieldOf<'money', { readonly column: 'bigint' }, Money>;

export type FieldValue = ReturnType<SettledField['read']>;

function fieldOf([path, spec]: readonly [string, FieldSpec]): SettledField {
  const isUsage = path.startsWith('usage.');
  const key = isUsage ? path.slice('usage.'.length) : path;
  const declared = { optional: false, isLastInJournal: false, about: undefined, example: undefined, ...spec };
  const read = isUsage
    ? ({ usage }: { readonly usage: Readonly<Record<string, unknown>> }) => usage[key]
    : (request: Readonly<Record<string, unknown>>) => request[key];
  // oxlint-disable-next-line typescript/consistent-type-assertions -- the type of what is read is made of the same table
  return { ...declared, shown: spec.shown ?? spec.name, isUsage, key, read } as unknown as SettledField;
}

/** The fields of the table, in its order. */
export const settledFields: readonly SettledField[] = Object.entries<FieldSpec>(table).map(fieldOf);

/** Builds a request from the values of its fields, which come in the order of `settledFields`. */
export function settledRequestOf(valueOf: (field: SettledField, index: number) => FieldValue): SettledRequest {
  const usage: Record<string, unknown> = {};
  const request: Record<string, unknown> = { usage };
  for (const [index, field] of settledFields.entries()) {
    (field.isUsage ? usage : request)[field.key] = valueOf(field, index);
  }
  // oxlint-disable-next-line typescript/consistent-type-assertions -- the type is made of the same table
  return request as unknown as SettledRequest;
}

const largest = { smallint: 2 ** 15 - 1, integer: 2 ** 31 - 1 } as const;

const wholeNumbers = settledFields
  .filter((field) => field.kind === 'count' || field.kind === 'moment')
  .map(({ name, stored, read }) => {
    const isColumn = typeof stored === 'object' && 'column' in stored;
    return { name, read, most: isColumn ? largest[stored.column] : Number.MAX_SAFE_INTEGER };
  });

/**
 * Throws a RangeError when a count or a time is not a whole number that the ledger can hold: the request is refused rather than
 * written wrong.
 */
export function checkRequest(request: SettledRequest): void {
  for (const { name, read, most } of wholeNumbers) {
    const value = read(request);
    if (value === undefined || (Number.isInteger(value) && value >= 0 && value <= most)) continue;
    throw new RangeError(`${name} is ${value}, and must be a whole number from 0 to ${most}`);
  }
}
