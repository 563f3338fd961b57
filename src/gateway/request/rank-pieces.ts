import type { AnswerEvent } from '../../core/event.ts';
import type { Plan, PlannedRoute } from '../core/plan.ts';
import type { Dispatch } from '../dispatch/dispatch.ts';
import type { DispatchEnd } from '../dispatch/dispatch-end.ts';
import { type CallsUnderWay, createCallsUnderWay } from './calls-under-way.ts';
import { callPieces, piecesOf, type TaskCall } from './call-pieces.ts';
import type { ModelServices } from './call-model.ts';

/** The state of a request whose documents are ranked in pieces. */
interface RankRun {
  readonly call: TaskCall;
  readonly services: ModelServices;
  readonly calls: CallsUnderWay;
}

/**
 * Ranks the documents of a request. If one route needs several pieces, all of them are ranked by the same route, because scores of two
 * engines cannot be compared: the routes of the plan are tried one after the other, and what a route that fails has ranked is dropped.
 * The pieces of one route go to any of its endpoints.
 */
export function rankPieces(call: TaskCall, services: ModelServices): Dispatch {
  if (piecesOf(call.task, call.plan).length <= 1) return callPieces(call, services);
  const calls = createCallsUnderWay();
  return { ended: rankOnOneRoute({ call, services, calls }), pause: calls.pause, resume: calls.resume };
}

/** The routes without room come last, as in a dispatch. */
const routesOf = ({ routes, leftOut = [] }: Plan): readonly PlannedRoute[] => [...routes, ...leftOut];

async function rankOnOneRoute(run: RankRun): Promise<DispatchEnd> {
  const { call } = run;
  const ends: DispatchEnd[] = [];
  for (const planned of routesOf(call.plan)) {
    const { end, events } = await rankOn(run, planned);
    ends.push(end);
    if (end.kind === 'completed' && !call.signal.aborted) call.deliver(events);
    if (end.kind !== 'failed' || call.signal.aborted) break;
  }
  return endOf(ends);
}

/** Ranks all documents on one route. The events are those of the whole answer, if the route has completed it. */
async function rankOn(
  run: RankRun,
  planned: PlannedRoute,
): Promise<{ readonly end: DispatchEnd; readonly events: readonly AnswerEvent[] }> {
  const { call, services, calls } = run;
  const events: AnswerEvent[] = [];
  const plan: Plan = { ...call.plan, routes: [planned], leftOut: [], equals: [] };
  const deliver = (delivered: readonly AnswerEvent[]): void => void events.push(...delivered);
  return { end: await calls.ended(callPieces({ ...call, plan, deliver }, services)), events };
}

/** The end of the last route that was tried, with the attempts of all. */
function endOf(ends: readonly DispatchEnd[]): DispatchEnd {
  const last = ends.at(-1);
  if (last === undefined) throw new Error('a plan has a route');
  const attempts = ends.reduce((sum, end) => sum + end.attempts, 0);
  const routes = ends.reduce((sum, end) => sum + end.routes, 0);
  if (last.kind !== 'failed') return { ...last, attempts, routes };
  const failed = ends.filter((end) => end.kind === 'failed');
  const asked = failed.filter((end) => end.attempts > 0);
  return {
    ...{ ...last, attempts, routes },
    isPartial: failed.some((end) => end.isPartial || end.attempts === 0),
    isLasting: asked.every((end) => end.isLasting === true) || undefined,
    // What one route says of the request counts only if all say it.
    refusedFor: asked.every((end) => end.refusedFor === last.refusedFor) ? last.refusedFor : undefined,
  };
}
