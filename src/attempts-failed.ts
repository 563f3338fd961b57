import { Failure } from './core/failure.ts';
import type { Plan } from './core/plan.ts';
import type { DispatchEnd } from './dispatch/run.ts';

/** What a caller is told when no attempt delivered anything. */
export function attemptsFailed(end: DispatchEnd, { model }: Plan): Failure {
  // Where no tokenizer counted the prompt, the engines' word on its length is the verdict.
  if (end.kind === 'failed' && end.refusedFor === 'context-length') {
    return new Failure('context_length_exceeded', 'The prompt and the output cap together exceed the context window.');
  }
  return end.attempts === 0
    ? new Failure('no_capacity', `No capacity for ${model.id} right now.`)
    : new Failure('attempts_failed', 'No attempt to serve this request succeeded. It is safe to retry.');
}
