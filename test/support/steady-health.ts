import type { Health } from '../../src/core/health.ts';

/** Health that finds every route well and never hedges, except for what a test sets. */
export function steadyHealth(fields: Partial<Health> = {}): Health {
  return {
    isAnswering: () => false,
    begin: () => ({ output: () => undefined, ended: () => undefined }),
    failedOn: () => 0,
    hedge: () => undefined,
    isOut: () => false,
    structure: () => undefined,
    ...fields,
  };
}
