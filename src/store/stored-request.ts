import type { CountedBy } from '../core/money.ts';
import type { LedgerRow } from './ledger-row.ts';
import type { NumberedNames } from './ledger-names.ts';
import { type PackedId, packId, startOf, unpackId } from './packed-id.ts';
import { codes, type Countable, kindCodes, surfaceCodes } from './usage-rollup.ts';

/**
 * A settled request as the table `requests` has it: at most 150 bytes, indexes included. Columns are in the order in which
 * PostgreSQL wastes none on alignment, and none is null, which would cost 8 bytes: −1 is "nobody said".
 */
export interface StoredRequest {
  readonly id: PackedId;
  /** The caller's correlation id where it is a UUID, else zeros. */
  readonly correlation: string;
  readonly cost: bigint;
  readonly key: number;
  /** Number of the route, which names its model. */
  readonly route: number;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly cached_tokens: number;
  readonly reasoning_tokens: number;
  readonly first_token_ms: number;
  readonly duration_ms: number;
  readonly attempts: number;
  readonly web_searches: number;
  /** Outcome, surface, who counted, whether it was streamed and on how many routes, in bits: see `traitsOf`. */
  readonly traits: number;
  /** The id as the caller knows it, where it is none of ours; else empty. */
  readonly request_text: string;
  /** The correlation id, where it is no UUID; else empty. */
  readonly correlation_text: string;
}

/** The columns in the order in which they are written, with their types in PostgreSQL. SQLite has integers, blobs and texts. */
export const requestColumns = {
  id: 'uuid',
  correlation: 'uuid',
  cost: 'bigint',
  key: 'integer',
  route: 'integer',
  prompt_tokens: 'integer',
  completion_tokens: 'integer',
  cached_tokens: 'integer',
  reasoning_tokens: 'integer',
  first_token_ms: 'integer',
  duration_ms: 'integer',
  attempts: 'smallint',
  web_searches: 'smallint',
  traits: 'smallint',
  request_text: 'text',
  correlation_text: 'text',
} as const satisfies Readonly<Record<keyof StoredRequest, 'uuid' | 'bigint' | 'integer' | 'smallint' | 'text'>>;

export const requestColumnNames: readonly (keyof StoredRequest)[] = Object.keys(requestColumns).filter(
  (name): name is keyof StoredRequest => name in requestColumns,
);

/** A request on its way into the ledger: its row, its workspace and key for the accounts, and what rollups count of it. */
export interface LedgerEntry {
  readonly stored: StoredRequest;
  readonly workspaceId: string;
  readonly keyId: string;
  readonly counted: Countable;
}

const nobodySaid = -1;
const noUuid = '0'.repeat(32);
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Most that a column holds: a larger count is refused rather than written wrong. */
const most = { integer: 2 ** 31 - 1, smallint: 2 ** 15 - 1 };

/** What rows are in the ledger, given the numbers of their names. Throws a RangeError when a count of one does not fit. */
export function entriesOf(rows: readonly LedgerRow[], names: readonly NumberedNames[]): readonly LedgerEntry[] {
  return rows.flatMap((row, index) => {
    const numbered = names[index];
    return numbered === undefined ? [] : [entryOf(row, numbered)];
  });
}

/** What a row is in the ledger. Throws a RangeError when a count does not fit. Its start is that of its id, where that is ours. */
function entryOf(row: LedgerRow, names: NumberedNames): LedgerEntry {
  const { surface, correlation_id: correlation } = row;
  const { id, isOwn } = packId(row.request_id, { surface, startedAt: Number(row.started_at) });
  const isUuid = uuid.test(correlation) && correlation.replaceAll('-', '') !== noUuid;
  const stored: StoredRequest = {
    id,
    correlation: isUuid ? correlation.replaceAll('-', '') : noUuid,
    cost: row.cost,
    key: names.key,
    route: names.route,
    prompt_tokens: small('prompt_tokens', row),
    completion_tokens: small('completion_tokens', row),
    cached_tokens: small('cached_tokens', row),
    reasoning_tokens: small('reasoning_tokens', row),
    first_token_ms: small('first_token_ms', row),
    duration_ms: small('duration_ms', row),
    attempts: small('attempts', row),
    web_searches: small('web_searches', row),
    traits: traitsOf(row),
    request_text: isOwn ? '' : row.request_id,
    correlation_text: isUuid ? '' : correlation,
  };
  return { stored, workspaceId: row.workspace_id, keyId: row.key_id, counted: countedOf(stored, row, names) };
}

function countedOf(stored: StoredRequest, row: LedgerRow, { key, model }: NumberedNames): Countable {
  const said = (count: number): bigint => (count === nobodySaid ? 0n : BigInt(count));
  return {
    startedAt: startOf(stored.id),
    key,
    model,
    surface: surfaceCodes.codeOf(row.surface),
    outcome: kindCodes.codeOf(row.kind),
    sums: [
      ...[BigInt(stored.prompt_tokens), BigInt(stored.completion_tokens)],
      ...[said(stored.cached_tokens), said(stored.reasoning_tokens), said(stored.web_searches), stored.cost],
    ],
    firstTokenMs: stored.first_token_ms === nobodySaid ? undefined : stored.first_token_ms,
    durationMs: stored.duration_ms,
  };
}

function small(
  column: Extract<
    keyof LedgerRow & keyof StoredRequest,
    `${string}_tokens` | `${string}_ms` | 'attempts' | 'web_searches'
  >,
  row: LedgerRow,
): number {
  const value = row[column];
  if (value === null) return nobodySaid;
  const type = requestColumns[column];
  if (value < 0n || value > BigInt(most[type])) {
    throw new RangeError(`${column} is ${value}, and must be a whole number from 0 to ${most[type]}`);
  }
  return Number(value);
}

/** Who counted, as it is stored: added to at the end and never changed. */
const counters = codes<CountedBy>(['engine', 'tokenizer', 'estimate']);

/** More routes than any plan asks; a request that asked more has this many. */
const mostRoutes = 15;

/**
 * Bits 0–3: the outcome. Bits 4–7: the surface. Bits 8–9: who counted. Bit 10: streamed. Bits 11–14: routes, at most 15; 0 where
 * nobody said.
 */
function traitsOf(row: LedgerRow): number {
  const [kind, surface] = [kindCodes.codeOf(row.kind), surfaceCodes.codeOf(row.surface)];
  const routes = Math.min(mostRoutes, Number(row.routes ?? 0n));
  return kind | (surface << 4) | (counters.codeOf(row.counted_by) << 8) | (Number(row.stream) << 10) | (routes << 11);
}

/** SQL of what `traits` holds for rollups, the same in both databases. */
export const traitsSql = { outcome: '(traits & 15)', surface: '((traits >> 4) & 15)' } as const;

/** The names that a stored request refers to. */
export interface RequestNames {
  readonly workspace_id: string;
  readonly key_id: string;
  readonly model_id: string;
  /** Empty where no route delivered. */
  readonly route_id: string;
}

/** The row that was stored. */
export function rowOf(stored: StoredRequest, names: RequestNames): LedgerRow {
  const { traits, correlation, correlation_text: correlationText, request_text: requestText } = stored;
  const surface = surfaceCodes.nameOf((traits >> 4) & 15);
  const said = (count: number): bigint | null => (count === nobodySaid ? null : BigInt(count));
  return {
    request_id: requestText === '' ? unpackId(stored.id, surface) : requestText,
    correlation_id: correlation === noUuid ? correlationText : hyphenated(correlation),
    workspace_id: names.workspace_id,
    key_id: names.key_id,
    model_id: names.model_id,
    route_id: names.route_id === '' ? null : names.route_id,
    surface,
    stream: BigInt((traits >> 10) & 1),
    kind: kindCodes.nameOf(traits & 15),
    prompt_tokens: BigInt(stored.prompt_tokens),
    completion_tokens: BigInt(stored.completion_tokens),
    cached_tokens: said(stored.cached_tokens),
    reasoning_tokens: said(stored.reasoning_tokens),
    counted_by: counters.nameOf((traits >> 8) & 3),
    web_searches: said(stored.web_searches),
    cost: stored.cost,
    attempts: BigInt(stored.attempts),
    routes: traits >> 11 === 0 ? null : BigInt(traits >> 11),
    started_at: BigInt(startOf(stored.id)),
    first_token_ms: said(stored.first_token_ms),
    duration_ms: BigInt(stored.duration_ms),
  };
}

function hyphenated(digits: string): string {
  return [0, 8, 12, 16, 20].map((from, index, all) => digits.slice(from, all[index + 1] ?? 32)).join('-');
}
