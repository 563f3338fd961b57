import {
  checkRequest,
  type FieldValue,
  type PackedKey,
  type SettledField,
  settledFields,
  type SettledRequest,
  settledRequestOf,
} from '../../core/settled-request.ts';
import { type PackedId, packId, startOf, unpackId } from '../core/packed-id.ts';
import { codes, type Countable, kindCodes, surfaceCodes } from './usage-rollup.ts';

/** The numbers by which rows and rollups refer to names: `ledger_keys`, `ledger_models` and `ledger_routes`. */
export interface NumberedNames {
  readonly key: number;
  readonly model: number;
  readonly route: number;
  /** `ledger_tags`. */
  readonly tags: readonly number[];
  /** The tags that these numbers stand for: those that the request counts as, not those that it was sent with. */
  readonly tagText: string | undefined;
}

/** The values that are computed from a request before its columns are written. */
interface Packed extends NumberedNames {
  readonly id: PackedId;
  readonly isOwnId: boolean;
  /** The correlation id as 32 digits where it is a UUID, else zeros. */
  readonly correlation: string;
}

type StoredValue = string | number | bigint;

interface Column {
  /** The type in PostgreSQL. SQLite has integers, blobs and texts. */
  readonly type: 'uuid' | 'bigint' | 'integer' | 'smallint' | 'text';
  readonly write: (request: SettledRequest, packed: Packed) => StoredValue;
}

export const noUuid = '0'.repeat(32);
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/** A row takes at most 150 bytes, indexes included. So no column is null, which would cost 8 bytes in PostgreSQL. */
const absent = -1;

/** Columns of several fields, or of a field in another form. All others hold one field of the table of fields. */
const packedColumns = {
  id: { type: 'uuid', write: (_, { id }) => id },
  correlation: { type: 'uuid', write: (_, { correlation }) => correlation },
  key: { type: 'integer', write: (_, { key }) => key },
  /** Number of the route, which names its model. */
  route: { type: 'integer', write: (_, { route }) => route },
  traits: { type: 'smallint', write: traitsOf },
  /** The id that the caller knows, if Weir has not made it. Else empty. */
  request_text: { type: 'text', write: ({ requestId }, { isOwnId }) => (isOwnId ? '' : requestId) },
  /** The correlation id, if it is not a UUID. Else empty. */
  correlation_text: {
    type: 'text',
    write: ({ correlationId }, { correlation }) => (correlation === noUuid ? correlationId : ''),
  },
  /** Empty where there is none. */
  fault: { type: 'text', write: ({ fault = '' }) => fault },
  /** Empty where there is none, like the next one. */
  failure: { type: 'text', write: ({ failure = '' }) => failure },
  attempt_log: { type: 'text', write: ({ attemptLog = '' }) => attemptLog },
  /** Numbers of its tags, with commas. */
  tags: { type: 'text', write: (_, { tags }) => tags.join(',') },
} as const satisfies Readonly<Record<string, Column>>;

/** The packed columns as they are read. SQLite's driver reads a bigint, PostgreSQL's a number; ids are read as digits. */
export type StoredRequest = {
  readonly [Name in keyof typeof packedColumns]: (typeof packedColumns)[Name]['type'] extends 'uuid' | 'text'
    ? string
    : number | bigint;
};

/** The columns in the order in which they are written. `ledger-tables.ts` and later migrations make them. A test compares both. */
export const requestColumns: readonly (Column & { readonly name: string })[] = [
  ...Object.entries<Column>(packedColumns).map(([name, column]) => ({ name, ...column })),
  ...settledFields.flatMap(ownColumn),
];

export const requestColumnNames: readonly string[] = requestColumns.map(({ name }) => name);

function ownColumn(field: SettledField): readonly (Column & { readonly name: string })[] {
  const { name, kind } = field;
  if (kind === 'money') return [{ name, type: field.stored.column, write: field.read }];
  if (kind !== 'count' || !('column' in field.stored)) return [];
  return [{ name, type: field.stored.column, write: (request) => field.read(request) ?? absent }];
}

/** A field in the bits of `traits`. */
interface Trait {
  readonly shift: number;
  readonly mask: number;
  readonly encode: (request: SettledRequest) => number;
  readonly decode: (code: number) => FieldValue;
}

function traitOf(field: SettledField): Trait | undefined {
  if (typeof field.stored === 'string' || !('bits' in field.stored)) return undefined;
  const { shift, bits } = field.stored;
  const place = { shift, mask: 2 ** bits - 1 };
  switch (field.kind) {
    case 'name': {
      const { codeOf, nameOf } = codes(field.names);
      return { ...place, encode: (request) => codeOf(field.read(request)), decode: nameOf };
    }
    case 'flag':
      return { ...place, encode: (request) => Number(field.read(request)), decode: (code) => code === 1 };
    case 'count':
      return {
        ...place,
        encode: (request) => Math.min(place.mask, field.read(request) ?? 0),
        decode: (code) => (code === 0 ? undefined : code),
      };
    case 'money':
      return undefined;
  }
}

const traits = new Map(settledFields.map((field) => [field.key, traitOf(field)]));
const allTraits = [...traits.values()].filter((trait) => trait !== undefined);

function traitsOf(request: SettledRequest): number {
  let bits = 0;
  for (const { shift, encode } of allTraits) bits |= encode(request) << shift;
  return bits;
}

function codeIn(bits: number | bigint, { shift, mask }: Pick<Trait, 'shift' | 'mask'> = { shift: 0, mask: 0 }): number {
  return (Number(bits) >> shift) & mask;
}

/** SQL for the part of `traits` that rollups use, the same in both databases. */
export const traitsSql = { outcome: traitSql('kind'), surface: traitSql('surface') } as const;

function traitSql(key: string): string {
  const trait = traits.get(key);
  return `((traits >> ${trait?.shift}) & ${trait?.mask})`;
}

/** A request that is about to be written into the ledger: the values of `requestColumns`, and the amounts for the rollups. */
export interface LedgerEntry {
  readonly id: PackedId;
  readonly request: SettledRequest;
  readonly values: readonly StoredValue[];
  readonly counted: Countable;
  /** The tags that the request counts as. */
  readonly countedTags: string | undefined;
}

/**
 * The rows of requests in the ledger, given the numbers of their names. Throws a RangeError if a count does not fit.
 */
export function entriesOf(
  requests: readonly SettledRequest[],
  names: readonly NumberedNames[],
): readonly LedgerEntry[] {
  return requests.flatMap((request, index) => {
    const numbered = names[index];
    return numbered === undefined ? [] : [entryOf(request, numbered)];
  });
}

/** The row of a request in the ledger. If Weir has made the id, the request starts at the moment in the id. */
function entryOf(request: SettledRequest, names: NumberedNames): LedgerEntry {
  checkRequest(request);
  const { id, isOwn: isOwnId } = packId(request.requestId, request);
  const correlation = correlationDigits(request.correlationId);
  const packed = { ...names, id, isOwnId, correlation };
  const { usage, cost, firstTokenMs, durationMs } = request;
  return {
    ...{ id, request, countedTags: names.tagText },
    values: requestColumns.map(({ write }) => write(request, packed)),
    counted: {
      startedAt: startOf(id),
      ...{ key: names.key, model: names.model, tags: names.tags },
      surface: surfaceCodes.codeOf(request.surface),
      outcome: kindCodes.codeOf(request.kind),
      sums: [
        ...[BigInt(usage.promptTokens), BigInt(usage.completionTokens), BigInt(usage.cachedTokens ?? 0)],
        ...[BigInt(usage.reasoningTokens ?? 0), BigInt(usage.webSearches ?? 0), cost],
      ],
      ...{ firstTokenMs, durationMs },
    },
  };
}

/** The digits of a correlation id that is a UUID, else zeros: the value of the column `correlation`. */
export function correlationDigits(correlationId: string): string {
  return uuid.test(correlationId) ? correlationId.replaceAll('-', '') : noUuid;
}

/** The names that a stored request refers to. */
interface RequestNames {
  readonly workspace_id: string;
  readonly key_id: string;
  readonly model_id: string;
  /** Empty where no route delivered. */
  readonly route_id: string;
}

/** A row of `requests` with the names that it refers to, before the texts of its tags are read. */
export type JoinedRequest = StoredRequest & RequestNames & Readonly<Record<string, StoredValue>>;

/** A row of `requests` with the names that it refers to, and the texts of its tags with commas. */
export type ReadRequest = JoinedRequest & { readonly tag_texts: string };

type Reader = (row: ReadRequest) => FieldValue;

const readPacked: Readonly<Record<PackedKey, Reader>> = {
  requestId: ({ id, request_text: text, traits: bits }) =>
    text === '' ? unpackId(id, surfaceCodes.nameOf(codeIn(bits, traits.get('surface')))) : text,
  correlationId: ({ correlation, correlation_text: text }) => (correlation === noUuid ? text : hyphenated(correlation)),
  workspaceId: ({ workspace_id: id }) => id,
  keyId: ({ key_id: id }) => id,
  modelId: ({ model_id: id }) => id,
  routeId: ({ route_id: id }) => (id === '' ? undefined : id),
  startedAt: ({ id }) => startOf(id),
  fault: ({ fault }) => (fault === '' ? undefined : fault),
  failure: ({ failure }) => (failure === '' ? undefined : failure),
  attemptLog: ({ attempt_log: log }) => (log === '' ? undefined : log),
  tags: ({ tag_texts: texts }) => (texts === '' ? undefined : texts),
};

const readers = settledFields.map(readerOf);

function readerOf(field: SettledField): Reader {
  const { name } = field;
  switch (field.kind) {
    case 'text':
    case 'moment':
      return readPacked[field.key];
    case 'money':
      return (row) => BigInt(row[name] ?? absent);
    case 'name':
    case 'flag':
    case 'count': {
      const trait = traits.get(field.key);
      if (trait !== undefined) return ({ traits: bits }) => trait.decode(codeIn(bits, trait));
      return (row) => {
        const count = Number(row[name] ?? absent);
        return count === absent ? undefined : count;
      };
    }
  }
}

/** The request that was stored. */
export function requestOf(row: ReadRequest): SettledRequest {
  return settledRequestOf((_, index) => readers[index]?.(row));
}

function hyphenated(digits: string): string {
  return [0, 8, 12, 16, 20].map((from, index, all) => digits.slice(from, all[index + 1] ?? 32)).join('-');
}
