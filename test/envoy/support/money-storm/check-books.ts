import { costOf, picoUsd, type Prices } from '../cost.ts';
import type { LedgerRow } from '../../../support/weir.ts';
import { readStormAnswer, type StormAnswer } from './storm-answer.ts';
import { type StormRecord, tagsOf } from './storm-caller.ts';

/** Everything that is known of a storm when it is over. */
export interface StormEvidence {
  readonly records: readonly StormRecord[];
  readonly rows: readonly LedgerRow[];
  /** Marks of the requests that an engine has seen. */
  readonly dispatched: ReadonlySet<string>;
  /** When which gateway's service was killed, monotonic milliseconds. */
  readonly kills: readonly { readonly replica: number; readonly atMs: number }[];
  readonly prices: Prices;
  /** When the key `expiring` does, monotonic milliseconds. */
  readonly keyExpiresMs: number;
}

/** How long after its caller has left a request may still be on its way to the disk. */
const settlingMs = 5_000;
/** How far the clocks of two processes of this machine may be apart. */
const clockMs = 100;

/** Holds every request against the ledger. Gives a sentence for each that was billed wrong: none when all is well. */
export function checkBooks(evidence: StormEvidence): readonly string[] {
  const { records, rows, dispatched, kills, prices, keyExpiresMs } = evidence;
  const wrong: string[] = [];
  const byMark = new Map<string, LedgerRow[]>();
  const ids = new Set<unknown>();
  for (const row of rows) {
    const mark = String(row['correlation_id']);
    byMark.set(mark, [...(byMark.get(mark) ?? []), row]);
    if (ids.has(row['id'])) wrong.push(`${String(row['id'])} has two rows`);
    ids.add(row['id']);
    if (picoUsd(row['cost']) !== costOf(row, prices)) wrong.push(`${mark}: its row costs what its tokens do not`);
  }
  const marks = new Set(records.map(({ mark }) => mark));
  for (const mark of byMark.keys()) if (!marks.has(mark)) wrong.push(`${mark} has a row, and nobody asked`);

  for (const record of records) {
    const { mark, replica, sentMs, endedMs } = record;
    const own = byMark.get(mark) ?? [];
    const wasKilled = kills.some(
      (kill) => kill.replica === replica && kill.atMs >= sentMs && kill.atMs <= endedMs + settlingMs,
    );
    const hadExpired = record.request.key === 'expiring' && sentMs > keyExpiresMs + clockMs;
    const facts = { own, wasKilled, wasDispatched: dispatched.has(mark), hadExpired };
    const fault = own.length > 1 ? `it has ${own.length} rows` : faultOf(record, readStormAnswer(record), facts);
    if (fault !== undefined) wrong.push(`${mark} (${record.request.kind}, ${record.status}, ${record.end}): ${fault}`);
  }
  return wrong;
}

interface Facts {
  /** At most one. */
  readonly own: readonly LedgerRow[];
  /** While it was under way, or just after. */
  readonly wasKilled: boolean;
  readonly wasDispatched: boolean;
  /** Its key, before it was sent. */
  readonly hadExpired: boolean;
}

function faultOf(
  record: StormRecord,
  answer: StormAnswer,
  { own, wasKilled, wasDispatched, hadExpired }: Facts,
): string | undefined {
  const [row] = own;
  const { request, end, status } = record;
  if (end === 'hung') return 'it never ended';
  if (row !== undefined && row['tags'] !== tagsOf(request)) return `its row has the tags ${String(row['tags'])}`;
  if (hadExpired && status === 200) return 'it was served, and its key had expired';
  const cost = row === undefined ? 0n : picoUsd(row['cost']);
  // Of whom a caller leaves while the prompt is on its way, the engine has no record.
  if (cost > 0n && !wasDispatched && end !== 'left') return 'it is billed and was never dispatched';
  if (status !== 0 && status !== 503 && !request.statuses.includes(status)) return 'nobody expected this status';
  switch (answer.kind) {
    case 'billed':
    case 'whole':
    case 'interrupted':
    case 'incomplete':
      if (row === undefined) return `its caller has the end (${answer.kind}), and there is no row`;
      // The error that stands in place of a whole answer names none.
      if (answer.id !== '' && row['id'] !== answer.id) return 'its row is of another answer';
      return faultOfRow(row, answer);
    case 'refused':
      if (status < 500 && row !== undefined) return 'it was refused and has a row';
      // Killed when its row was durable, and before its caller could be told: Envoy's own 503.
      return cost === 0n || wasKilled ? undefined : `it was answered ${status} and is billed`;
    case 'broken-off':
      if (end === 'cut' && !wasKilled) return 'it was cut, and nobody was killed';
      if (end === 'left' && row === undefined && wasDispatched && !wasKilled) return 'its caller left and pays nothing';
      return row === undefined ? undefined : faultOfPart(row, { ...answer, request });
    case 'unreadable':
      return answer.why;
  }
}

/** `interrupted` bills the output that was delivered and no more, `incomplete` nothing (docs/reference/api.md §7.3). */
function faultOfRow(
  row: LedgerRow,
  answer: Exclude<StormAnswer, { readonly kind: 'refused' | 'broken-off' | 'unreadable' }>,
): string | undefined {
  const outcome = row['outcome'];
  switch (answer.kind) {
    case 'billed':
      if (outcome !== 'completed') return `its caller has the whole answer, and its row says ${String(outcome)}`;
      if (row['completion_tokens'] !== answer.completionTokens) return 'its caller was told of other tokens';
      return picoUsd(row['cost']) === answer.cost ? undefined : 'its caller was told another cost';
    case 'whole':
      return outcome === 'completed'
        ? undefined
        : `its caller has the whole answer, and its row says ${String(outcome)}`;
    case 'interrupted':
      // Nothing but signs of life had been delivered.
      if (outcome === 'failed') return picoUsd(row['cost']) === 0n ? undefined : 'it failed, and is billed';
      if (outcome !== 'interrupted') return `it was interrupted, and its row says ${String(outcome)}`;
      return row['prompt_tokens'] === 0 ? undefined : 'it was interrupted, and its prompt is billed';
    case 'incomplete':
      return picoUsd(row['cost']) === 0n ? undefined : 'it could not be completed, and is billed';
  }
}

/**
 * Whoever leaves pays for the prompt and for what was delivered, which is no less than what arrived. The prompt is free where
 * nothing showed that an engine had it: then nothing can have arrived, and nothing is billed.
 */
function faultOfPart(
  row: LedgerRow,
  part: { readonly pieces: number; readonly request: StormRecord['request'] },
): string | undefined {
  const tokens = Number(row['completion_tokens']);
  switch (row['outcome']) {
    case 'cancelled':
      if (row['attempts'] === 0)
        return picoUsd(row['cost']) === 0n ? undefined : 'it was never dispatched, and is billed';
      if (row['prompt_tokens'] === 0 && (tokens > 0 || part.pieces > 0 || picoUsd(row['cost']) > 0n))
        return 'its caller left with output, and its prompt is free';
      return tokens >= part.pieces ? undefined : `its caller has ${part.pieces} pieces and pays for ${tokens} tokens`;
    case 'completed':
      // The engine had counted, and Weir bills what it counts.
      if (part.request.kind === 'counted as zero') return tokens === 0 ? undefined : 'its engine counted 0 tokens';
      return tokens >= part.pieces ? undefined : `its caller has ${part.pieces} pieces and pays for ${tokens} tokens`;
    case 'interrupted':
      return tokens >= part.pieces ? undefined : `its caller has ${part.pieces} pieces and pays for ${tokens} tokens`;
    case 'service-lost':
      return row['prompt_tokens'] === 0 ? undefined : 'the service lost it, and its prompt is billed';
    default:
      return picoUsd(row['cost']) === 0n ? undefined : 'it failed, and is billed';
  }
}
