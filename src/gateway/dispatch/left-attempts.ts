import type { Clock } from '../../core/clock.ts';
import type { AttemptPlace, Health } from '../core/health.ts';
import type { Attempt } from './attempt.ts';
import type { Runner } from './runner.ts';

/** An attempt that was under way when its caller left. */
export interface LeftAttempt {
  readonly attempt: Pick<Attempt, 'hasHead' | 'reached' | 'abort'>;
  readonly at: AttemptPlace;
  readonly waitedMs: number;
}

/** Ends the attempts whose calls have gone out, and leaves the calls open. */
export function leaveCalled(
  runners: Iterable<Pick<Runner, 'attempt' | 'at' | 'begunAt'>>,
  clock: Pick<Clock, 'elapsed'>,
): readonly LeftAttempt[] {
  const left: LeftAttempt[] = [];
  for (const { attempt, at, begunAt } of runners) {
    if (attempt === undefined || !attempt.isCalled()) continue;
    attempt.leave();
    left.push({ attempt, at, waitedMs: clock.elapsed() - begunAt });
  }
  return left;
}

/**
 * Call it when a caller has left before any output. Looks for evidence that an engine received the request, then closes the calls.
 * The prompt is billed only with evidence (decision 0028): the head of a successful answer has arrived, or the request is on a
 * connection to an engine that most likely works on it. Calls `answer` at once unless Envoy has to be asked.
 */
export function lookForEvidence(
  left: readonly LeftAttempt[],
  { health, stream }: { readonly health: Pick<Health, 'isAnswering'>; readonly stream: boolean },
  answer: (heard: boolean) => void,
): void {
  const close = (heard: boolean): void => {
    for (const { attempt } of left) attempt.abort();
    answer(heard);
  };
  const likely = left.filter(({ at, waitedMs }) => health.isAnswering(at, { stream, waitedMs }));
  if (left.some(({ attempt }) => attempt.hasHead())) close(true);
  else if (likely.length === 0) close(false);
  else {
    Promise.all(likely.map(({ attempt }) => attempt.reached())).then(
      (reached) => close(reached.includes(true)),
      () => close(false),
    );
  }
}
