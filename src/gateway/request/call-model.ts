import type { Credential } from '../../core/account.ts';
import type { Feature, OwnField, Piece, Round } from '../../core/capability.ts';
import type { Route } from '../../core/catalog.ts';
import type { Dialect } from '../../core/dialect.ts';
import type { AnswerEvent, Fault } from '../../core/event.ts';
import { Failure } from '../../core/failure.ts';
import type { Plan } from '../core/plan.ts';
import type { PreparedRequest } from '../../core/prompt.ts';
import type { Request } from '../../core/request.ts';
import type { StructureChecker } from '../core/structure.ts';
import type { RequestWatch } from '../core/telemetry.ts';
import { type RequestTrace, writeTraceparent } from '../../core/trace.ts';
import { type Dispatch, dispatch } from '../dispatch/dispatch.ts';
import type { DispatchEnd } from '../dispatch/dispatch-end.ts';
import type { DispatchServices } from '../dispatch/dispatch-services.ts';
import type { EngineProtocol } from '../dispatch/protocol.ts';
import { createRetryPolicy, type StructureRetries } from '../dispatch/retries.ts';
import { engines } from '../engines/engines.ts';
import { createStructureValidator } from '../structured-output/structured-answer.ts';
import type { TokenCounters } from '../metering/meter.ts';
import { inputTooLong } from '../routing/check-task.ts';
import { contextOverflow } from '../routing/plan.ts';
import { changedFields, leadingPlan, type SystemPlacement, withoutFields } from '../routing/system-placement.ts';
import { chatProtocol, type StateServices } from './engine-protocol.ts';
import { taskProtocol, wholeOf } from './task-protocol.ts';

export interface ModelServices extends DispatchServices, StateServices {
  readonly structureRetries: StructureRetries;
  readonly structures: Pick<StructureChecker, 'check'>;
  readonly placement: SystemPlacement;
}

/** One call to a model, over all the routes of its plan. */
export interface ModelCall {
  readonly watch: RequestWatch;
  /** Undefined: tracing is off. */
  readonly trace: RequestTrace | undefined;
  readonly dialect: Pick<Dialect, 'idPrefixes'>;
  readonly credential: Pick<Credential, 'key'>;
  readonly prepared: PreparedRequest;
  readonly plan: Plan;
  readonly counters: TokenCounters | undefined;
  /** Aborts when the caller leaves. */
  readonly signal: AbortSignal;
  /** Undefined in the first call of an answer. */
  readonly round?: Round | undefined;
  /** The part of the inputs of a task. Undefined: all. */
  readonly piece?: Piece | undefined;
  readonly deliver: (events: readonly AnswerEvent[]) => void;
}

/**
 * An engine sends nothing of a whole answer until it is complete, and some engines load a model first. Until the first output, such a
 * limit of silence is this many times longer.
 */
const wholeAnswerIdleFactor = 10;

/** What routes may have refused in a call: system messages after the first message, and the service's own fields. */
interface Refusals {
  readonly placement: Set<Route>;
  readonly fields: Map<Route, Set<OwnField>>;
}

/**
 * Calls a model. If engines refuse a request because of its form, calls them once more in another one: without the fields that they
 * do not know, or with all system messages at the start. Remembers what routes refused only if the request is answered in the end: a
 * request that is refused in every form has another fault, and must not change the form of later requests.
 */
export function callModel(call: ModelCall, services: ModelServices): Dispatch {
  const { placement } = services;
  const refusals: Refusals = { placement: new Set(), fields: new Map() };
  const fieldsOf = (route: Route): readonly OwnField[] =>
    changedFields(placement.unknownFields(route), refusals.fields.get(route));
  let isPaused = false;

  function start(plan: Plan): { readonly dispatch: Dispatch; readonly hasNewForm: () => boolean } {
    const known = refusedFields(refusals);
    const dispatch = callOnce({ ...call, plan: withoutFields(plan, fieldsOf) }, services, refusals);
    if (isPaused) dispatch.pause();
    return { dispatch, hasNewForm: () => refusedFields(refusals) > known };
  }

  async function answer(plan: Plan): Promise<DispatchEnd> {
    const end = await running.dispatch.ended;
    if (end.kind === 'completed' || end.kind === 'interrupted') {
      for (const route of refusals.placement) placement.refused(route);
      for (const [route, fields] of refusals.fields) placement.refusedFields(route, fields);
    }
    const next = end.kind === 'failed' && !call.signal.aborted ? nextForm(end, plan, running) : undefined;
    if (next === undefined) return end;
    running = start(next);
    const later = await answer(next);
    return { ...later, attempts: end.attempts + later.attempts, routes: Math.max(end.routes, later.routes) };
  }

  /** The plan in a form that no engine has refused. Undefined: there is none. */
  function nextForm(end: DispatchEnd & { readonly kind: 'failed' }, plan: Plan, { hasNewForm }: typeof running) {
    if (hasNewForm()) return plan;
    const isMisplaced = end.refusedFor === 'bad-request' && call.prepared.shape.hasLaterSystem;
    return isMisplaced ? leadingPlan(plan) : undefined;
  }

  let running = start(call.plan);
  return {
    ended: answer(call.plan),
    pause: () => {
      isPaused = true;
      running.dispatch.pause();
    },
    resume: () => {
      isPaused = false;
      running.dispatch.resume();
    },
  };
}

/** How many fields have been refused, over all routes. */
const refusedFields = ({ fields }: Refusals): number => [...fields.values()].reduce((sum, { size }) => sum + size, 0);

/** Dispatches a call. Adds to `refusals` what its routes may have refused. */
function callOnce(call: ModelCall, services: ModelServices, refusals: Refusals): Dispatch {
  const { watch, trace, prepared, plan, counters, signal, round, deliver } = call;
  const { health, structureRetries, structures, idleMs } = services;
  const { shape, request } = prepared;
  const { sampling, stream, responseFormat } = request;
  const caller = call.credential.key.id;
  const routes = plan.routes.length;
  const cap = round === undefined ? request.maxOutputTokens : round.maxOutputTokens;
  return dispatch(
    {
      plan,
      asked: {
        stream,
        choices: sampling.n ?? 1,
        cap,
        isJson: responseFormat !== undefined && responseFormat.type !== 'text',
        prompt: shape.digest,
      },
      protocol: protocolOf({ ...call, round, cap }, services),
      retries: createRetryPolicy({
        failedOn: health.failedOn(shape.digest),
        places: [...plan.routes, ...(plan.leftOut ?? [])].reduce(
          (sum, { route }) => sum + health.endpointsLeft({ route }),
          0,
        ),
        spendStructureRetry: () => structureRetries.spend(caller),
      }),
      validator: createStructureValidator(round === undefined ? request : { ...request, toolChoice: 'auto' }, {
        structures,
        health,
        retries: structureRetries,
        caller,
        routes,
      }),
      countText: counters?.countText,
      signal,
      deliver,
      observer: {
        attempting: ({ route, endpoint, picked }, reason, step) => {
          const { backend, upstreamModel } = route;
          const span = trace?.child();
          const attempt = watch.attempt({
            routeId: route.id,
            backend: backend.name,
            engine: backend.engine,
            upstreamModel,
            endpoint: endpoint.name,
            reason,
            step,
            picked,
            spanId: span?.spanId,
          });
          return span === undefined ? attempt : { ...attempt, traceparent: writeTraceparent(span) };
        },
        won: (route, reason) => watch.progress({ kind: 'won', routeId: route.id, reason }),
        failed: (route, fault) => {
          if (mayRefuseSystemMessages(fault, route, call)) refusals.placement.add(route);
          const field = fault.refuses;
          // The caller's own wish is not left out.
          if (field === undefined || (field === 'reasoning' && request.reasoning !== undefined)) return;
          refusals.fields.set(route, (refusals.fields.get(route) ?? new Set()).add(field));
        },
      },
    },
    {
      ...services,
      firstOutputMs: ({ backend }) =>
        stream && engines[backend.engine].loadsOnDemand !== true ? idleMs : idleMs * wholeAnswerIdleFactor,
    },
  );
}

function protocolOf(call: ModelCall & { readonly cap: number | undefined }, services: StateServices): EngineProtocol {
  const { task } = call.prepared.request;
  if (task === undefined) return chatProtocol({ ...call, round: call.round }, services);
  return taskProtocol({ ...call, task, piece: call.piece ?? wholeOf(task) });
}

/** Whether a route may have refused the request because a system message comes after the first message. */
function mayRefuseSystemMessages(fault: Fault, route: Route, { plan, prepared }: ModelCall): boolean {
  if (fault.engineError !== 'bad-request' || !prepared.shape.hasLaterSystem) return false;
  const sent = plan.routes.find((planned) => planned.route === route)?.target.form?.systemMessages;
  return sent !== 'Leading';
}

/** The parts of a request that an engine's error can be about. */
type AskedParts = Pick<Request, 'task' | 'tools' | 'toolChoice' | 'responseFormat' | 'reasoning' | 'sampling'>;

/**
 * The error for a caller when no attempt delivered anything: a 400 if every route of the model would refuse the request
 * again, a 502 if another try may succeed. The engine's own message is not passed on, because it names the engine and may
 * quote the prompt.
 */
export function attemptsFailed(end: DispatchEnd, { model }: Plan, request: AskedParts): Failure {
  if (end.attempts === 0) return new Failure('no_capacity', `No capacity for ${model.id} right now.`);
  const retry = new Failure('attempts_failed', 'No attempt to serve this request succeeded. It is safe to retry.');
  if (end.kind !== 'failed') return retry;
  switch (end.refusedFor) {
    case 'context-length':
      // Without a tokenizer, the engines' count of the prompt is final.
      return request.task === undefined ? contextOverflow(model) : inputTooLong(model, request.task, undefined);
    case 'bad-request': {
      if (end.isPartial) return retry;
      const about = end.about !== undefined && hasPart(request, end.about) ? [end.about] : [];
      const what = about.length > 0 ? 'its value is refused' : 'the request is refused';
      return new Failure(
        'invalid_request',
        `${what} by everything that serves ${model.id}; unchanged, it will be refused again.`,
        { about },
      );
    }
    case 'content-policy':
      if (end.isPartial) return retry;
      return new Failure(
        'invalid_request',
        `messages: the content policy for ${model.id} does not let them through; unchanged, they will be refused again.`,
      );
    case 'structure':
      return new Failure(
        'attempts_failed',
        'No answer had the structure that this request asks for. Another try may bring one, unless no answer can have it.',
      );
    case 'repeated-failure':
      return new Failure(
        'attempts_failed',
        'No attempt to serve this request succeeded, and none did shortly before. Retry later, or change the prompt.',
      );
    case 'account':
    case 'not-found':
    case 'misconfigured':
    case 'rate-limit':
    case 'overloaded':
    case 'other':
    case 'disputed':
    case undefined:
      // A route that was not asked, or had no room, may serve the next one.
      if (end.isPartial || end.isLasting !== true) return retry;
      return new Failure(
        'attempts_failed',
        `No attempt to serve this request succeeded. ${model.id} needs a repair first, so a retry will not help now.`,
      );
  }
}

/** Whether the caller has set a part of a request. An engine's error may name a part that the service has set. */
function hasPart({ tools, toolChoice, responseFormat, reasoning, sampling }: AskedParts, part: Feature): boolean {
  if (part === 'tools') return tools.length > 0;
  if (part === 'tool_choice') return toolChoice !== undefined;
  if (part === 'response_format') return responseFormat !== undefined;
  return (part === 'reasoning' ? reasoning : sampling[part]) !== undefined;
}
