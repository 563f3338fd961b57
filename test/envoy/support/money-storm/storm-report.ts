import { picoUsd } from '../cost.ts';
import type { LedgerRow } from '../../../support/weir.ts';
import { readStormAnswer } from './storm-answer.ts';
import type { StormRecord } from './storm-caller.ts';

/** How the requests of one kind ended: by what their callers saw, and by what the ledger says. */
export interface StormTally {
  /** Besides those that were turned away while the service was away. */
  readonly sent: number;
  readonly saw: ReadonlyMap<string, number>;
  readonly outcomes: ReadonlyMap<string, number>;
  /** Rows of requests for which more than one attempt was made. */
  readonly manyAttempts: number;
}

const isTurnedAway = ({ status, end, request }: StormRecord): boolean =>
  (status === 503 && !request.statuses.includes(503)) || (status === 0 && end === 'cut');

function count(into: Map<string, number>, name: string): void {
  into.set(name, (into.get(name) ?? 0) + 1);
}

/** Counts a storm by kind. */
export function tallyStorm(
  records: readonly StormRecord[],
  rows: readonly LedgerRow[],
): ReadonlyMap<string, StormTally> {
  const byMark = new Map(rows.map((row) => [row['correlation_id'], row]));
  const tallies = new Map<
    string,
    { -readonly [K in keyof StormTally]: StormTally[K] } & {
      readonly saw: Map<string, number>;
      readonly outcomes: Map<string, number>;
    }
  >();
  for (const record of records) {
    const kind = isTurnedAway(record) ? 'turned away' : record.request.kind;
    const tally = tallies.get(kind) ?? { sent: 0, saw: new Map(), outcomes: new Map(), manyAttempts: 0 };
    tallies.set(kind, tally);
    tally.sent += 1;
    const answer = readStormAnswer(record);
    count(
      tally.saw,
      answer.kind === 'refused' ? String(answer.status) : answer.kind === 'broken-off' ? record.end : answer.kind,
    );
    const row = byMark.get(record.mark);
    count(tally.outcomes, row === undefined ? 'no row' : String(row['outcome']));
    if (Number(row?.['attempts'] ?? 0) > 1) tally.manyAttempts += 1;
  }
  return tallies;
}

const listed = (counts: ReadonlyMap<string, number>): string =>
  [...counts]
    .toSorted(([, one], [, other]) => other - one)
    .map(([name, number]) => `${number} ${name}`)
    .join(', ');

/** What is printed of a storm. */
export function reportStorm(storm: {
  readonly name: string;
  readonly tallies: ReadonlyMap<string, StormTally>;
  readonly rows: readonly LedgerRow[];
  readonly kills: number;
  readonly outages: number;
  readonly drop: bigint;
  readonly difference: bigint;
  readonly tookMs: number;
}): string {
  const { name, tallies, rows, kills, outages, drop, difference, tookMs } = storm;
  const sum = rows.reduce((total, row) => total + picoUsd(row['cost']), 0n);
  const lines = [...tallies]
    .toSorted(([one], [other]) => one.localeCompare(other))
    .map(([kind, { sent, saw, outcomes, manyAttempts }]) => {
      const more = manyAttempts === 0 ? '' : ` (${manyAttempts} of several attempts)`;
      return `  ${kind.padEnd(34)}${String(sent).padStart(6)}: ${listed(saw)} → ${listed(outcomes)}${more}`;
    });
  return [
    `money storm on ${name}: ${Math.round(tookMs / 1000)} s, ${kills} services killed, ${outages} outages of the database`,
    ...lines,
    `  ${rows.length} rows cost ${sum}, the balances dropped by ${drop}, and the books differ by ${difference} (10⁻¹² USD)`,
  ].join('\n');
}
