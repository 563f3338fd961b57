import { type AnswerEvent, isOutput } from '../../core/event.ts';
import type { AttemptEnd, AttemptPlace } from '../core/health.ts';
import type { PlannedRoute } from '../core/plan.ts';
import type { AttemptReason, AttemptStep, AttemptWatch } from '../core/telemetry.ts';
import type { Attempt } from './attempt.ts';
import type { ChoiceContinuation } from './continuation/continuation.ts';
import type { StartReason } from './decide.ts';
import type { BegunPlace } from './places.ts';

/** The attempt whose output is delivered. */
export interface Winner {
  readonly planned: PlannedRoute;
  readonly continuation: ChoiceContinuation | undefined;
}

export interface Runner extends Winner {
  readonly number: number;
  readonly at: AttemptPlace;
  readonly why: StartReason;
  /** Time at which the attempt began, by `Clock.elapsed`. */
  readonly begunAt: number;
  /** Undefined until the attempt has started. */
  attempt: Attempt | undefined;
  /** Receives the progress of the attempt. Undefined until the call goes out. */
  watch: AttemptWatch | undefined;
  /** Output that is not delivered yet. */
  held: AnswerEvent[];
}

export function newRunner(
  { planned, continuation, record }: BegunPlace,
  { number, why, begunAt }: Pick<Runner, 'number' | 'why' | 'begunAt'>,
): Runner {
  return {
    number,
    planned,
    at: { route: planned.route, endpoint: record.endpoint, picked: record.picked },
    continuation,
    why,
    begunAt,
    attempt: undefined,
    watch: undefined,
    held: [],
  };
}

/** Why a call is made. `isContinued`: its race continues an answer that broke off. */
export function reasonOf(why: StartReason, { isContinued }: { readonly isContinued: boolean }): AttemptReason {
  return why === 'first' && isContinued ? 'resume' : why;
}

/** Returns whether a call is the first, or goes to another route or only to another endpoint than the previous call. */
export function stepOf(planned: PlannedRoute, previous: PlannedRoute | undefined): AttemptStep {
  if (previous === undefined) return 'first';
  return previous === planned ? 'endpoint' : 'route';
}

/** Keeps output that cannot be delivered yet. True: it is the first output of the attempt. */
export function hold(runner: Runner, output: readonly AnswerEvent[], stream: boolean): boolean {
  const isFirst = stream ? output.some(isOutput) : runner.held.length === 0;
  if (isFirst) runner.watch?.output();
  // A report replaces the earlier one, so an engine that only counts fills no memory.
  if (output[0]?.type === 'usage' && runner.held.at(-1)?.type === 'usage') runner.held.pop();
  runner.held.push(...output);
  return isFirst;
}

/** Returns the output that was kept, and keeps it no longer. */
export function takeHeld(runner: Runner): readonly AnswerEvent[] {
  const { held } = runner;
  runner.held = [];
  return held;
}

export function reportEnd({ watch, attempt }: Runner, end: AttemptEnd): void {
  watch?.ended(end, attempt?.facts());
}
