import type { Credential } from '../core/account.ts';
import type { Feature, Round } from '../core/capability.ts';
import type { Route } from '../core/catalog.ts';
import type { Clock } from '../core/clock.ts';
import { contextOverflow } from '../routing/plan.ts';
import type { Dialect } from '../core/dialect.ts';
import type { AnswerEvent } from '../core/event.ts';
import { Failure } from '../core/failure.ts';
import type { Health } from '../core/health.ts';
import type { Plan } from '../core/plan.ts';
import type { PreparedRequest } from '../core/prompt.ts';
import type { Request } from '../core/request.ts';
import type { StructureChecker } from '../core/structure.ts';
import type { Telemetry } from '../core/telemetry.ts';
import type { Upstream } from '../core/upstream.ts';
import { chatErrors } from '../dialects/chat/read-error.ts';
import { readResponseAs } from '../dialects/chat/read-response.ts';
import { upstreamCall } from '../dispatch/attempt.ts';
import { type Dispatch, dispatch, type DispatchEnd } from '../dispatch/dispatch.ts';
import type { HedgeBudget } from '../dispatch/hedge.ts';
import { createRetryPolicy, type StructureRetries } from '../dispatch/retries.ts';
import { judgeFor } from '../dispatch/structured-answer.ts';
import { capabilitiesOf, inlineReasoningOf } from '../engines/engines.ts';
import { checkUsage } from '../metering/check-usage.ts';
import { estimatePrompt } from '../metering/estimate-prompt.ts';
import type { TokenCounters } from '../metering/meter.ts';
import { leadingPlan, type SystemPlacement } from '../routing/system-placement.ts';

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

/** What of a request an engine's error may be about. */
type AskedParts = Pick<Request, 'tools' | 'toolChoice' | 'responseFormat' | 'reasoning' | 'sampling'>;

/** Whether a request asks for a part: an engine's error may name one that the service itself has set. */
function hasPart({ tools, toolChoice, responseFormat, reasoning, sampling }: AskedParts, part: Feature): boolean {
  if (part === 'tools') return tools.length > 0;
  if (part === 'tool_choice') return toolChoice !== undefined;
  if (part === 'response_format') return responseFormat !== undefined;
  return (part === 'reasoning' ? reasoning : sampling[part]) !== undefined;
}

/**
 * What a caller is told when no attempt delivered anything. A refusal that every route of the model would repeat is the
 * request's own and a 400; as long as another route might take it, it is worth another try, and a 502. Engines' own words go
 * nowhere: they name the engine, and may quote the prompt.
 */
export function attemptsFailed(end: DispatchEnd, { model, leftOut = 0 }: Plan, request: AskedParts): Failure {
  if (end.attempts === 0) return new Failure('no_capacity', `No capacity for ${model.id} right now.`);
  const retry = new Failure('attempts_failed', 'No attempt to serve this request succeeded. It is safe to retry.');
  if (end.kind !== 'failed') return retry;
  const isLastWord = !end.isPartial && leftOut === 0;
  switch (end.refusedFor) {
    case 'context-length':
      // Where no tokenizer counted the prompt, the engines' word on its length is the verdict.
      return contextOverflow(model);
    case 'bad-request': {
      if (!isLastWord) return retry;
      const about = end.about !== undefined && hasPart(request, end.about) ? [end.about] : [];
      const what = about.length > 0 ? 'its value is refused' : 'the request is refused';
      return new Failure(
        'invalid_request',
        `${what} by everything that serves ${model.id}; unchanged, it will be refused again.`,
        { about },
      );
    }
    case 'content-policy':
      if (!isLastWord) return retry;
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
    case 'rate-limit':
    case 'overloaded':
    case 'other':
    case 'disputed':
    case undefined:
      return retry;
  }
}
