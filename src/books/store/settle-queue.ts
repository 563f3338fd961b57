import type { Outcome } from '../../core/account.ts';
import { Failure } from '../../core/failure.ts';
import type { SettleFault } from './worker-message.ts';

interface Waiting {
  readonly outcome: Outcome;
  readonly resolve: () => void;
  readonly reject: (failure: Failure) => void;
}

/**
 * Groups rows into commits: while one batch is under way, new rows wait for the next. The slower the disk, the larger
 * the batches, so a disk that syncs a hundred times a second still stores thousands of rows a second.
 */
export function createSettleQueue(options: {
  /** Hands a batch to the store's thread. */
  readonly send: (outcomes: readonly Outcome[]) => void;
  /** Runs a function a little later. Rows that arrive until then share a batch. */
  readonly defer: (run: () => void) => void;
  readonly maxWaiting: number;
  readonly maxBatch: number;
}) {
  const { send, defer, maxWaiting, maxBatch } = options;
  let waiting: Waiting[] = [];
  let underWay: readonly Waiting[] = [];
  let deferred = false;
  let failed: Failure | undefined;
  let onDrained: (() => void)[] = [];

  function flush(): void {
    deferred = false;
    if (underWay.length > 0 || waiting.length === 0) return;
    underWay = waiting.length <= maxBatch ? waiting : waiting.slice(0, maxBatch);
    waiting = waiting.slice(underWay.length);
    send(underWay.map((row) => row.outcome));
  }

  function schedule(): void {
    if (deferred || underWay.length > 0 || waiting.length === 0) return;
    deferred = true;
    defer(flush);
  }

  function size(): number {
    return underWay.length + waiting.length;
  }

  function releaseDrained(): void {
    if (size() > 0) return;
    for (const resolve of onDrained) resolve();
    onDrained = [];
  }

  return {
    /** Rows not yet durable. */
    size,
    /** Resolves when the row is durable. Rejects with `overloaded` when too many rows wait, and with the reason when the row was not written. */
    add: (outcome: Outcome): Promise<void> => {
      if (failed) return Promise.reject(failed);
      if (size() >= maxWaiting)
        return Promise.reject(new Failure('overloaded', 'The service is overloaded. Retry with backoff.'));
      return new Promise((resolve, reject) => {
        waiting.push({ outcome, resolve, reject });
        schedule();
      });
    },
    /** Resolves the promises of the rows of the batch under way, and rejects those of rows with a fault. */
    acknowledge: (faults: readonly SettleFault[]): void => {
      const done = underWay;
      underWay = [];
      const byIndex = new Map(faults.map((fault) => [fault.index, fault]));
      for (const [index, row] of done.entries()) {
        const fault = byIndex.get(index);
        if (fault) row.reject(failureOf(fault));
        else row.resolve();
      }
      schedule();
      releaseDrained();
    },
    /** Rejects all rows that wait and all that are added later. */
    fail: (failure: Failure): void => {
      failed = failure;
      for (const row of [...underWay, ...waiting]) row.reject(failure);
      [underWay, waiting] = [[], []];
      releaseDrained();
    },
    /** Resolves when nothing waits. */
    drained: (): Promise<void> =>
      size() === 0 ? Promise.resolve() : new Promise((resolve) => onDrained.push(resolve)),
  };
}

function failureOf(fault: SettleFault): Failure {
  const code = fault.reason === 'no-room' ? 'overloaded' : 'internal';
  return new Failure(code, 'The service could not record this request.', { cause: new Error(fault.message) });
}
