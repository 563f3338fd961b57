import type { Health } from '../core/health.ts';
import type { LeftAttempt } from './strand.ts';

interface EvidenceOptions {
  readonly health: Pick<Health, 'isAnswering'>;
  readonly stream: boolean;
}

/**
 * Looks for evidence that an engine had the request of a caller who left before any output, and lets go of the engines. Only then
 * is its prompt billed (decision 0028): an engine's success has begun to arrive; or the request is on a connection to
 * an engine that is most likely at work on it. `told` is called at once unless Envoy has to be asked.
 */
export function lookForEvidence(
  left: readonly LeftAttempt[],
  { health, stream }: EvidenceOptions,
  told: (heard: boolean) => void,
): void {
  const letGo = (heard: boolean): void => {
    for (const attempt of left) attempt.abort();
    told(heard);
  };
  const likely = left.filter(({ planned, waitedMs }) => health.isAnswering(planned.route, { stream, waitedMs }));
  if (left.some(({ hasHead }) => hasHead)) letGo(true);
  else if (likely.length === 0) letGo(false);
  else {
    Promise.all(likely.map((attempt) => attempt.reached())).then(
      (reached) => letGo(reached.includes(true)),
      () => letGo(false),
    );
  }
}
