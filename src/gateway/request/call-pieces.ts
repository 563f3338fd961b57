import type { Piece } from '../../core/capability.ts';
import type { Model, Route } from '../../core/catalog.ts';
import type { AnswerEvent } from '../../core/event.ts';
import type { Task } from '../../core/request.ts';
import type { Plan } from '../core/plan.ts';
import type { Dispatch } from '../dispatch/dispatch.ts';
import type { DispatchEnd } from '../dispatch/dispatch-end.ts';
import { engines } from '../engines/engines.ts';
import { estimatePrompt } from '../metering/estimate-prompt.ts';
import { type CallsUnderWay, createCallsUnderWay } from './calls-under-way.ts';
import { callModel, type ModelCall, type ModelServices } from './call-model.ts';
import { wholeOf } from './task-protocol.ts';

/** Most pieces of a request that are sent side by side. More would delay the requests of other callers. */
const maxSideBySide = 4;

export interface TaskCall extends Omit<ModelCall, 'round' | 'piece'> {
  readonly task: Task;
}

type Weighed = Pick<TaskCall, 'prepared' | 'plan' | 'task'>;

/** The state of a request whose inputs are sent in pieces. */
interface PiecesRun {
  readonly call: TaskCall;
  readonly services: ModelServices;
  /** Aborts the pieces under way when one has failed for good. */
  readonly stop: AbortController;
  readonly signal: AbortSignal;
  /** In the order in which they are sent. */
  readonly waiting: Piece[];
  readonly calls: CallsUnderWay;
  readonly used: UsedSoFar;
  /** The ends of the pieces, of which the last one failed if any did. */
  readonly ends: DispatchEnd[];
}

/** The tokens of the pieces that have ended. */
interface UsedSoFar {
  promptTokens: number;
  /** Pieces whose engine has not counted, or not truly. */
  isEstimated: boolean;
}

/**
 * Calls a model for a task. More inputs than an engine takes in one call are sent in pieces, side by side. Each piece has a dispatch
 * of its own, so one that fails goes to another endpoint alone. The events are those of one answer: vectors come with the numbers of
 * their inputs, the usage is that of all pieces, and one finish is the last. If one piece fails for good, the request fails.
 */
export function callPieces(call: TaskCall, services: ModelServices): Dispatch {
  const pieces = piecesOf(call.task, call.plan);
  if (pieces.length <= 1) return callModel(call, services);
  const stop = new AbortController();
  const calls = createCallsUnderWay();
  const run: PiecesRun = {
    ...{ call, services, stop },
    signal: AbortSignal.any([call.signal, stop.signal]),
    waiting: [...pieces],
    calls,
    used: { promptTokens: 0, isEstimated: false },
    ends: [],
  };
  return { ended: callAll(run), pause: calls.pause, resume: calls.resume };
}

/** Divides the inputs of a task, or its documents, into pieces that every route of a plan takes. All but the last one are equal. */
export function piecesOf(task: Task, { model, routes, leftOut = [] }: Plan): readonly Piece[] {
  const { count: total } = wholeOf(task);
  const size = Math.min(...[...routes, ...leftOut].map(({ route }) => maxOfPiece(task, model, route)));
  if (total <= size) return [wholeOf(task)];
  return Array.from({ length: Math.ceil(total / size) }, (_, at) => ({
    first: at * size,
    count: Math.min(size, total - at * size),
  }));
}

/** The operator knows how the engines were started; otherwise the usual limit of the engine counts. */
function maxOfPiece({ kind }: Task, { embedding, rerank }: Model, { backend }: Route): number {
  const row = engines[backend.engine];
  return kind === 'embedding'
    ? (embedding?.maxInputs ?? row.embeddings?.maxInputs ?? Infinity)
    : (rerank?.maxDocuments ?? row.rerank?.maxDocuments ?? Infinity);
}

/** How many pieces are sent side by side: no more than the Backend that is tried first may get at a time. */
function sideBySide({ call: { plan }, services: { health } }: PiecesRun): number {
  const { route } = plan.routes[0];
  const { maxConcurrentRequests = Infinity, maxConcurrentRequestsPerEndpoint = Infinity } = route.backend;
  const endpoints = Math.max(1, health.endpointsLeft({ route }));
  return Math.max(1, Math.min(maxSideBySide, maxConcurrentRequests, maxConcurrentRequestsPerEndpoint * endpoints));
}

/** Sends all pieces. Resolves when none is under way any more. */
async function callAll(run: PiecesRun): Promise<DispatchEnd> {
  const { call, ends, stop } = run;
  const lanes = Array.from({ length: Math.min(sideBySide(run), run.waiting.length) }, () => lane(run));
  const settled = await Promise.allSettled(lanes);
  const crashed = settled.find((one) => one.status === 'rejected');
  if (crashed !== undefined) throw crashed.reason;
  const attempts = ends.reduce((sum, end) => sum + end.attempts, 0);
  const routes = Math.max(...ends.map((end) => end.routes));
  const failed = ends.find(({ kind }) => kind === 'failed' || kind === 'interrupted');
  if (call.signal.aborted) {
    const heard = ends.some((end) => end.kind !== 'cancelled' || end.heard);
    return { kind: 'cancelled', attempts, routes, route: routeOf(ends), heard };
  }
  if (failed !== undefined)
    return failed.kind === 'failed' ? { ...failed, attempts, routes } : broken(failed, attempts);
  const route = routeOf(ends);
  // Only an answer that was stopped has a piece without a route.
  if (route === undefined || stop.signal.aborted) return { kind: 'failed', attempts, routes, isPartial: true };
  call.deliver([{ type: 'finish', choice: 0, reason: 'stop' }]);
  return { kind: 'completed', route, attempts, routes, isContinued: false };
}

const routeOf = (ends: readonly DispatchEnd[]): Route | undefined =>
  ends.map((end) => ('route' in end ? end.route : undefined)).find((route) => route !== undefined);

/** Nothing of a whole answer was sent, so one that was interrupted has failed. */
const broken = ({ routes, lastFault }: DispatchEnd, attempts: number): DispatchEnd => ({
  ...{ kind: 'failed', attempts, routes, isPartial: true },
  lastFault,
});

/** Sends one piece after the other, until none waits. */
async function lane(run: PiecesRun): Promise<void> {
  for (let piece = run.waiting.shift(); piece !== undefined; piece = run.waiting.shift()) {
    const end = await callPiece(run, piece).catch((error: unknown) => {
      giveUp(run);
      throw error;
    });
    // Another request, or another piece, took the last slot: the piece is sent when one of ours has ended.
    if (end.kind === 'failed' && end.attempts === 0 && run.calls.count() > 0) {
      run.waiting.unshift(piece);
      return;
    }
    run.ends.push(end);
    if (end.kind !== 'completed') giveUp(run);
  }
}

function giveUp({ waiting, stop }: PiecesRun): void {
  waiting.length = 0;
  stop.abort();
}

async function callPiece(run: PiecesRun, piece: Piece): Promise<DispatchEnd> {
  const { call, services, signal } = run;
  let isCounted = false;
  const deliver = (events: readonly AnswerEvent[]): void => {
    if (signal.aborted) return;
    const passed = events.flatMap((event): readonly AnswerEvent[] => {
      if (event.type === 'finish') return [];
      if (event.type !== 'usage') return [event];
      isCounted = true;
      run.used.isEstimated ||= event.estimated?.prompt === true;
      return [addUsage(run, event.usage.promptTokens)];
    });
    if (passed.length > 0) call.deliver(passed);
  };
  const end = await run.calls.ended(
    callModel({ ...call, plan: planOf(call, piece), piece, signal, deliver }, services),
  );
  if (end.kind === 'completed' && !isCounted) {
    run.used.isEstimated = true;
    call.deliver([addUsage(run, estimateOf(call, piece))]);
  }
  return end;
}

/** An endpoint is picked by the work of the piece. What caches hold is known of the beginning of the whole prompt alone. */
export function planOf(call: Weighed, piece: Piece): Plan {
  const { plan } = call;
  const poolPrompt = { digests: [], ends: [], tokens: Math.max(1, estimateOf(call, piece)) };
  return plan.poolPrompt === undefined ? plan : { ...plan, poolPrompt };
}

/** The tokens of a piece, by its share of the inputs. */
const estimateOf = ({ prepared, plan, task }: Weighed, piece: Piece): number =>
  Math.ceil((estimatePrompt(prepared.shape, plan.model) * piece.count) / wholeOf(task).count);

/** The totals so far. While they have an estimate, the model's tokenizer counts the whole prompt in their place. */
function addUsage({ used }: PiecesRun, promptTokens: number): AnswerEvent {
  used.promptTokens += promptTokens;
  const usage = { promptTokens: used.promptTokens, completionTokens: 0 };
  if (!used.isEstimated) return { type: 'usage', usage };
  return { type: 'usage', usage, countedBy: 'estimate', estimated: { prompt: true, completion: false } };
}
