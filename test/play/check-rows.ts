import type { SettledRequest } from '../../src/core/settled-request.ts';
import type { Call } from '../simulation/caller.ts';
import type { Violate } from '../simulation/invariants.ts';

/** What is read of a row, and of the call that it belongs to. */
type CheckedRow = Pick<SettledRequest, 'requestId' | 'correlationId' | 'cost'>;
type CheckedCall = Pick<Call, 'status' | 'end'> & { readonly event: Pick<Call['event'], 'id'> };

/** Of a request that Weir refused itself. */
const refusals: ReadonlySet<number | undefined> = new Set([400, 401, 402, 403, 404]);

/** What only a world of real processes can get wrong: each request has one row at most, a refused one none, and none is billed that no engine got. */
export function checkRows(
  rows: readonly CheckedRow[],
  { calls, heard }: { readonly calls: readonly CheckedCall[]; readonly heard: Pick<ReadonlySet<number>, 'has'> },
  violate: Violate,
): void {
  const byNumber = new Map(calls.map((call) => [call.event.id, call]));
  const seen = new Set<string>();
  for (const { correlationId, cost } of rows) {
    const number = Number(correlationId.slice(1));
    const call = byNumber.get(number);
    if (seen.has(correlationId)) violate('rows', 'has two rows', number);
    seen.add(correlationId);
    if (call === undefined) violate('rows', `${correlationId} has a row, and nobody asked`);
    else if (refusals.has(call.status())) violate('rows', `was refused with ${call.status()}, and has a row`, number);
    // Of whom a caller leaves while the prompt is on its way, the engine has no record.
    else if (cost > 0n && !heard.has(number) && call.end() === 'ended')
      violate('rows', 'is billed, and no engine got it', number);
  }
}
