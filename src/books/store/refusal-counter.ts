import type { CancelTimer, Clock } from '../../core/clock.ts';
import type { RefusedRequest } from '../../core/refused-request.ts';
import { maxSamples, minuteMs, type RefusalRow, refusalRow } from '../core/refusal.ts';

/** Least time between two writes of refusals. */
const writeEveryMs = 1_000;
/** How long the first refusal after a quiet second waits for others that come with it. Who was refused may look at once. */
const gatherMs = 20;
/**
 * Maximum number of rows that a service begins in a minute, besides one for each code. Refusals with further keys count
 * in the row without a key, so that a flood cannot fill the disk.
 */
export const maxRowsInMinute = 250;
/** Maximum number of rows that wait for the database. Refusals with further keys are dropped. */
export const maxWaitingRows = 1_000;

/**
 * Counts refused requests until they are written, at most once a second. A refusal costs a look into a map and waits
 * for nothing. While the database is down, the rows wait; a service that is killed loses those of its last second.
 */
export function createRefusalCounter(
  clock: Pick<Clock, 'after' | 'elapsed'>,
  port: { readonly isUp: () => boolean; readonly write: (rows: readonly RefusalRow[]) => void },
) {
  let waiting = new Map<string, RefusalRow>();
  /** Set while a timer will write the waiting rows. */
  let cancel: CancelTimer | undefined;
  let wroteAt = -Infinity;
  let isClosed = false;
  /** The rows of the current minute. */
  const begun = new Set<string>();
  let minuteBegan = clock.elapsed();

  function arm(): void {
    cancel ??= clock.after(Math.max(gatherMs, wroteAt + writeEveryMs - clock.elapsed()), () => {
      cancel = undefined;
      wroteAt = clock.elapsed();
      flush();
      if (waiting.size > 0) arm();
    });
  }

  function flush(): void {
    if (waiting.size === 0 || !port.isUp()) return;
    const rows = [...waiting.values()];
    waiting = new Map();
    port.write(rows);
  }

  function placeOf(row: RefusalRow): readonly [string, RefusalRow] {
    const key = keyOf(row);
    if (begun.has(key)) return [key, row];
    // Names that callers make up may have a part of the rows alone.
    if (row.code === 'model_not_found' && row.model !== '' && begun.size >= maxRowsInMinute / 2) {
      return placeOf({ ...row, model: '' });
    }
    if (begun.size < maxRowsInMinute) {
      begun.add(key);
      return [key, row];
    }
    const keyless = { ...row, key_id: '', workspace_id: '', model: '' };
    return [keyOf(keyless), keyless];
  }

  return {
    add: (request: RefusedRequest): void => {
      if (isClosed) return;
      if (clock.elapsed() - minuteBegan >= minuteMs) {
        minuteBegan = clock.elapsed();
        begun.clear();
      }
      const [key, row] = placeOf(refusalRow(request));
      const known = waiting.get(key);
      if (known === undefined && waiting.size >= maxWaitingRows) return;
      const samples =
        known === undefined || known.count < maxSamples ? (known?.samples ?? '') + row.samples : known.samples;
      waiting.set(key, {
        ...row,
        first_id: known?.first_id ?? row.first_id,
        count: (known?.count ?? 0n) + 1n,
        samples,
      });
      arm();
    },
    /** Writes the waiting rows, if the database is up. Nothing is counted afterwards. */
    close: (): void => {
      flush();
      isClosed = true;
      cancel?.();
    },
  };
}

const keyOf = ({ minute, key_id: key, model, code }: RefusalRow): string => `${minute} ${key} ${model} ${code}`;
