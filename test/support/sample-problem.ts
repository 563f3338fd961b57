import { type Problem, type ProblemReport, problemId } from '../../src/control/core/problem.ts';

/** A problem of a Backend that has been down since noon; changed as a test needs it. */
export function sampleProblem(changes: Partial<Problem> = {}): Problem {
  const { object = 'Backend/vllm-a', kind = 'backend-down' } = changes;
  return {
    ...{ id: problemId({ object, kind }), object, kind, model: null },
    problem: 'No endpoint takes requests.',
    since: '2026-07-01T12:00:00.000Z',
    action: 'Start the engine: docs/operate/runbooks.md#weirbackendwithoutendpoint',
    ...changes,
  };
}

/** What a service reports that has served its catalog since noon. */
export function sampleReport(problems: readonly Problem[] = [], version = 'v1'): ProblemReport {
  return { catalog: { version, served_at: '2026-07-01T12:00:00.000Z' }, problems: [...problems] };
}
