import type { Logger } from 'pino';
import type { CatalogProblem } from '../../core/catalog.ts';

/** Logs what is wrong with the catalog: a line when it begins, not one per reading that still has it. */
export function createProblemLog(log: Pick<Logger, 'warn'>): (problems: readonly CatalogProblem[]) => void {
  let known: ReadonlySet<string> = new Set();
  return (problems) => {
    const now = new Map(problems.map((problem) => [JSON.stringify(problem), problem]));
    for (const [text, { where, field, message }] of now) {
      if (!known.has(text)) log.warn({ where, field, message }, 'manifest problem');
    }
    known = new Set(now.keys());
  };
}
