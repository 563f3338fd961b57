import { mergeProblems, type Problem, type ProblemReport } from '../../control/core/problem.ts';
import type { Clock } from '../../core/clock.ts';

interface ProblemLinesOptions {
  readonly print: (line: string) => void;
  readonly clock: Pick<Clock, 'now'>;
}

/** Most problems that are printed at once: a folder with a thousand broken objects must not hide all others. */
const maxAtOnce = 10;

/** Prints the problems of the services on the terminal: each once when it appears, and once when it ends. */
export function createProblemLines({ print, clock }: ProblemLinesOptions) {
  const reports = new Map<number, ProblemReport>();
  let shown: ReadonlyMap<string, Problem> = new Map();

  function printSome(
    problems: readonly Problem[],
    linesOf: (problem: Problem) => readonly string[],
    what: string,
  ): void {
    for (const line of problems.slice(0, maxAtOnce).flatMap(linesOf)) print(line);
    const more = problems.length - maxAtOnce;
    if (more > 0) print(`${more} more problems ${what}: \`weir problems\` lists those there are.`);
  }

  function look(): void {
    const named = [...reports].map(([number, report]) => ({ name: String(number), report }));
    const current = new Map(mergeProblems(named, clock.now()).map((problem) => [problem.id, problem]));
    const before = shown;
    shown = current;
    const ended = [...before.values()].filter(({ id }) => !current.has(id));
    const begun = [...current.values()].filter(({ id }) => !before.has(id));
    printSome(ended, endedLine, 'ended');
    printSome(begun, begunLines, 'appeared');
  }

  return {
    /** Takes the report of a service. A service that has ended keeps its last report until it is started again. */
    take: (service: number, report: ProblemReport): void => {
      reports.set(service, report);
      look();
    },
    /** Evaluates the received reports again: a service that lags behind the others sends no new report. */
    look,
  };
}

const begunLines = ({ object, problem, action }: Problem): readonly string[] => [
  `Problem: ${object}: ${problem}`,
  `  → ${action}`,
];
const endedLine = ({ object, problem }: Problem): readonly string[] => [`Ended: ${object}: ${problem}`];
