import type { Credential } from '../core/account.ts';
import type { Round } from '../core/capability.ts';
import type { Route } from '../core/catalog.ts';
import type { Clock } from '../core/clock.ts';
import type { Dialect } from '../core/dialect.ts';
import type { AnswerEvent } from '../core/event.ts';
import type { Health } from '../core/health.ts';
import type { Plan } from '../core/plan.ts';
import type { PreparedRequest } from '../core/prepared.ts';
import type { StructureChecker } from '../core/structure.ts';
import type { Telemetry } from '../core/telemetry.ts';
import type { Upstream } from '../core/upstream.ts';
import { chatErrors } from '../dialects/chat/read-error.ts';
import { readResponseAs } from '../dialects/chat/read-response.ts';
import { capabilitiesOf, inlineReasoningOf } from '../engines/engines.ts';
import type { HedgeBudget } from '../dispatch/hedge-budget.ts';
import { createRetryPolicy } from '../dispatch/retry-policy.ts';
import { type Dispatch, dispatch, type DispatchEnd } from '../dispatch/run.ts';
import type { StructureRetries } from '../dispatch/structure-retries.ts';
import { upstreamCall } from '../dispatch/upstream-call.ts';
import { judgeFor } from './judge.ts';
import { leadingPlan, type SystemPlacement } from '../routing/system-placement.ts';
import { checkUsage } from '../metering/check-usage.ts';
import { estimatePrompt } from '../metering/estimate-prompt.ts';
import type { TokenCounters } from '../metering/exact-meter.ts';

export interface EngineOptions {
  readonly upstream: Upstream;
  readonly health: Health;
  readonly hedges: HedgeBudget;
  readonly structureRetries: StructureRetries;
  readonly structures: Pick<StructureChecker, 'check'>;
  readonly placement: SystemPlacement;
  readonly telemetry: Telemetry;
  readonly clock: Clock;
  /** Letters and digits that nobody can guess. */
  readonly newId: () => string;
  /** Longest silence of an attempt, milliseconds. */
  readonly idleMs: number;
}

/** One call to a model, over all the routes of its plan. */
export interface EngineAsk {
  readonly requestId: string;
  readonly dialect: Pick<Dialect, 'idPrefixes'>;
  readonly credential: Pick<Credential, 'key'>;
  readonly prepared: PreparedRequest;
  readonly plan: Plan;
  readonly counters: TokenCounters | undefined;
  /** Aborts when the caller leaves. */
  readonly signal: AbortSignal;
  /** Absent in the first call of an answer. */
  readonly round?: Round;
  readonly deliver: (events: readonly AnswerEvent[]) => void;
}

/** A whole answer says nothing until it is complete: its silence proves less than a stream's, by this factor. */
const wholeAnswerPatience = 10;

/**
 * Asks the engines of a plan. Where all of them refuse a request that has system messages in the middle, they are asked once more,
 * with leading ones only. A route that has refused them is remembered when the request has been answered all the same: what is refused
 * in either form has another fault, and one such request would change the form of all that follow.
 */
export function askEngines(ask: EngineAsk, options: EngineOptions): Dispatch {
  const refusing = new Set<Route>();
  const remember = (end: DispatchEnd): void => {
    if (end.kind !== 'completed' && end.kind !== 'interrupted') return;
    for (const route of refusing) options.placement.refused(route);
  };
  let running = askOnce(ask, options, refusing);
  let isPaused = false;
  const ended = running.ended.then((end) => {
    remember(end);
    if (end.kind !== 'failed' || end.refusedFor !== 'bad-request' || !ask.prepared.shape.hasLaterSystem) return end;
    const plan = leadingPlan(ask.plan);
    if (plan === undefined || ask.signal.aborted) return end;
    running = askOnce({ ...ask, plan }, options, refusing);
    if (isPaused) running.pause();
    return running.ended.then((second) => {
      remember(second);
      return { ...second, attempts: end.attempts + second.attempts };
    });
  });
  return {
    ended,
    pause: () => {
      isPaused = true;
      running.pause();
    },
    resume: () => {
      isPaused = false;
      running.resume();
    },
  };
}

/**
 * Asks the engines of a plan, and judges the structure of what they answer. Routes that refuse the request as it is put, with system
 * messages in the middle, are added to `refusing`.
 */
function askOnce(ask: EngineAsk, options: EngineOptions, refusing: Set<Route>): Dispatch {
  const { requestId, dialect, prepared, plan, counters, signal, round } = ask;
  const { upstream, health, hedges, structureRetries, telemetry, clock, idleMs, newId } = options;
  const { tools, sampling, stream, responseFormat } = prepared.request;
  const maxOutputTokens = round === undefined ? prepared.request.maxOutputTokens : round.maxOutputTokens;
  const caller = ask.credential.key.id;
  const judge = judgeFor(round === undefined ? prepared.request : { ...prepared.request, toolChoice: 'auto' }, {
    ...{ structures: options.structures, health, retries: structureRetries, caller },
    routes: plan.routes.length,
  });
  const newToolId = (): string => dialect.idPrefixes.toolCall + newId();
  const { logprobs = false } = sampling;
  const readOptions = { toolNames: new Set(tools.map((tool) => tool.name)), newToolId, logprobs };
  const prompt = prepared.shape.digest;
  const policy = createRetryPolicy({
    failedOn: health.failedOn(prompt),
    routes: plan.routes.length,
    spend: () => structureRetries.spend(caller),
  });
  const running = dispatch({
    ...{ plan, upstream, clock, health, hedges, signal },
    errors: chatErrors,
    idleMs: stream ? idleMs : idleMs * wholeAnswerPatience,
    asked: {
      ...{ stream, choices: sampling.n ?? 1, isJson: responseFormat !== undefined && responseFormat.type !== 'text' },
      ...(maxOutputTokens === undefined ? {} : { cap: maxOutputTokens }),
    },
    ...(counters === undefined ? {} : { countText: counters.countText }),
    callFor: (planned, resume) => upstreamCall(prepared, planned, { affinity: plan.affinity, resume, round }),
    readerFor: (planned, { contentType, ...how }) => {
      const reasoning = inlineReasoningOf(planned);
      const reading = { ...readOptions, ...how, ...(reasoning === undefined ? {} : { reasoning }) };
      const reader = readResponseAs(contentType, reading);
      if (reader === undefined) return undefined;
      return checkUsage(reader, {
        ...{ model: plan.model, cap: maxOutputTokens, choices: how.choices },
        promptEstimate: estimatePrompt(prepared.shape, plan.model),
        implausible: () => telemetry.implausibleUsage(requestId, planned.route.id),
      });
    },
    continuationOf: ({ route }) => {
      const { continuation: mark, continuesReasoning = false } = capabilitiesOf(route);
      return { mark, reasoning: continuesReasoning };
    },
    ...(judge === undefined || stream ? {} : { judge: (events, { route }) => judge.whole(events, route) }),
    ...{ prompt, mayRetry: policy.mayRetry },
    deliver: (events) => {
      if (stream) judge?.take(events);
      ask.deliver(events);
    },
    attempting: (route, reason) => telemetry.attempt(requestId, route.id, reason),
    failed: (route, fault) => {
      telemetry.fault(requestId, route.id, fault);
      const sent = plan.routes.find((planned) => planned.route === route)?.target.form?.systemMessages;
      if (fault.engineError !== 'bad-request' || sent === 'Leading' || !prepared.shape.hasLaterSystem) return;
      refusing.add(route);
    },
  });
  const ended = running.ended.then((end) => {
    if (!stream) judge?.close();
    else if (end.kind === 'completed' && !end.resumed) judge?.streamed(end.route);
    return policy.explain(end);
  });
  return { ...running, ended };
}
