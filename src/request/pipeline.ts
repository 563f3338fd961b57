/**
 * One request's life. Read this first: `complete`, `completeAdmitted` and `serve` have one line per stage, in order.
 */
import type { Credential, Store } from '../core/account.ts';
import type { OutcomeKind } from '../core/settled-request.ts';
import { type Model, modelNamed, type Snapshot } from '../core/catalog.ts';
import type { Dialect, Surface } from '../core/dialect.ts';
import type { RelayedEvent } from '../core/event.ts';
import { correlationIdOf, type Exchange, type RequestHead } from '../core/exchange.ts';
import { asFailure, Failure } from '../core/failure.ts';
import type { Health } from '../core/health.ts';
import type { Limits } from '../core/limits.ts';
import type { ModelPatterns } from '../core/model-patterns.ts';
import type { Plan } from '../core/plan.ts';
import { type PreparedRequest, promptCounting, type Tokenizers } from '../core/prompt.ts';
import type { AttemptReason } from '../core/telemetry.ts';
import type { RequestTrace } from '../core/trace.ts';
import { type AddressGate, throughGate } from '../admission/address-gate.ts';
import { authenticate, type AuthenticateOptions, listedModels, originOf } from '../admission/authenticate.ts';
import { admit, type Admitted } from '../admission/limits.ts';
import { checkLoad, type LoadGuard } from '../admission/overload.ts';
import { checkDeclaredSize, maxBodyBytes, type UploadLedger } from '../admission/uploads.ts';
import type { Snapshots } from '../catalog/snapshots.ts';
import type { Dispatch } from '../dispatch/dispatch.ts';
import type { DispatchEnd } from '../dispatch/dispatch-end.ts';
import { capabilitiesOf, templateArguments } from '../engines/engines.ts';
import type { AnswerLengths } from '../metering/expected-output.ts';
import type { TokenCounters } from '../metering/meter.ts';
import { createSettlement, type Settlement } from '../metering/settle.ts';
import type { AffinityOf } from '../routing/affinity.ts';
import type { RoutingView } from '../routing/health/route-status.ts';
import { checkContext, makePlan } from '../routing/plan.ts';
import { callModel, attemptsFailed, type ModelServices } from './call-model.ts';
import { operationOf, replyFixed, replyModels } from './operation.ts';
import { countersFor } from './prepare.ts';
import { keepAlive, type Relay, relayAnswer } from './relay.ts';
import { replyFailure } from './reply.ts';
import { createRequestTally, type RequestTally } from './request-tally.ts';
import { runSearchLoop, checkSearch, takesRounds, type WebSearch } from './search-loop.ts';

export interface PipelineOptions extends AuthenticateOptions, ModelServices {
  readonly store: Store;
  readonly gate: AddressGate;
  readonly limits: Limits;
  readonly uploads: Pick<UploadLedger, 'open'>;
  readonly snapshots: Snapshots;
  /** The body of `GET /v1/models`, with these models alone. */
  readonly modelList: (models: ModelPatterns | undefined) => string;
  /** Whether that list has a model. Absent: it has all. */
  readonly isListed?: (model: Model) => boolean;
  readonly prepare: (body: Uint8Array, surface: Surface) => PreparedRequest | Promise<PreparedRequest>;
  readonly tokenizers: Tokenizers;
  readonly health: Health & RoutingView;
  readonly affinityOf: AffinityOf;
  readonly answerLengths: AnswerLengths;
  /** Absent: the web is not searched, and nothing that was found can be sent back. */
  readonly search?: WebSearch;
  /** A number from 0 up to 1. */
  readonly random: () => number;
  /** The place of a request in its trace. Absent: tracing is off. */
  readonly traceOf?: ((head: RequestHead) => RequestTrace | undefined) | undefined;
  /** How busy the service is, and how busy it may be. */
  readonly load: LoadGuard;
  /** Longest silence towards a caller, milliseconds. */
  readonly keepAliveMs: number;
}

export interface Pipeline {
  /** Answers one exchange. Never throws: every failure is an answer. */
  readonly handle: (exchange: Exchange) => void;
  /** Requests under way, their settlement included. */
  readonly inFlight: () => number;
}

/** The request's id, the format of its caller, and what is known of it. */
interface Asking {
  readonly requestId: string;
  readonly correlationId: string;
  /** Undefined: tracing is off. */
  readonly trace: RequestTrace | undefined;
  readonly dialect: Dialect;
  readonly tally: RequestTally;
}

/** The caller of a request, when it came, and the slot that it holds. */
interface Caller extends Asking {
  /** Wall clock and monotonic, milliseconds. */
  readonly startedAt: number;
  readonly begun: number;
  /** As `originOf`. */
  readonly origin: string | undefined;
  readonly credential: Credential;
  readonly admitted: Admitted;
}

/** A request that passed every check and is being answered. */
interface Work extends Caller {
  readonly exchange: Exchange;
  readonly prepared: PreparedRequest;
  readonly plan: Plan;
  readonly settlement: Settlement;
  readonly counters: TokenCounters | undefined;
}

export function createPipeline(options: PipelineOptions): Pipeline {
  const { store, snapshots, tokenizers, health, affinityOf, answerLengths, telemetry, clock, newId } = options;
  let inFlight = 0;

  async function complete(exchange: Exchange, asking: Asking): Promise<void> {
    const { head } = exchange;
    const { keyHeaders } = asking.dialect;
    const { requestId, correlationId, trace, tally } = asking;
    const begin = { ...asking, startedAt: clock.now(), begun: tally.begun };
    const { surface } = asking.dialect;
    telemetry.began(requestId, { surface, correlationId, startedAt: begin.startedAt, trace });
    checkLoad(
      { head, startedAt: begin.startedAt, openRequests: inFlight },
      { ...options.load, random: options.random },
    );
    const origin = originOf(head, keyHeaders, options);
    const caller = await throughGate(origin, options.gate, () => authenticate(head, keyHeaders, options));
    const { key, workspace } = caller.credential;
    telemetry.progress(requestId, { kind: 'authenticated', workspaceId: workspace.id, keyId: key.id });
    const admitted = await admit(caller, options.limits);
    telemetry.progress(requestId, { kind: 'admitted' });
    try {
      await completeAdmitted(exchange, { ...begin, origin, credential: caller.credential, admitted });
    } finally {
      await admitted.release();
    }
  }

  async function completeAdmitted(exchange: Exchange, caller: Caller): Promise<void> {
    const { head } = exchange;
    // Its bill could not be recorded.
    if (!store.canSettle())
      throw new Failure('overloaded', 'The service cannot keep its accounts right now. Retry later.', {
        limit: 'ledger',
      });
    checkDeclaredSize(head);
    const prepared = await readPrompt(exchange, caller);
    const { snapshot, release } = snapshots.hold();
    const { stream } = prepared.request;
    const modelId = modelNamed(snapshot, prepared.request.modelName)?.id;
    telemetry.progress(caller.requestId, { kind: 'read', modelId, stream });
    try {
      checkSearch(prepared.request, options.search);
      const plan = planFor(prepared, snapshot, caller);
      const { model, routes } = plan;
      caller.tally.planned(model.id);
      const { target } = routes[0];
      const counting = promptCounting(model, { templateArguments: templateArguments(target), form: target.form });
      await checkContext(prepared, { model, tokenizers, counting });
      const counters = countersFor(prepared, { model, tokenizers, counting });
      const { surface } = caller.dialect;
      const settlement = createSettlement({
        ...caller,
        ...{ surface, prepared, plan, counters, answerLengths, store, telemetry, clock },
        searchPrice: options.search?.price,
        accrue: caller.admitted.adjust,
      });
      await caller.admitted.reserve(settlement.expectedCost());
      telemetry.progress(caller.requestId, { kind: 'dispatched' });
      await serve({ ...caller, exchange, prepared, plan, settlement, counters });
    } finally {
      prepared.release();
      release();
    }
  }

  /** Takes the body in and reads it. Its share of the memory for uploads is given back once it has been read. */
  async function readPrompt(
    exchange: Exchange,
    { requestId, dialect, origin, credential, admitted, tally }: Caller,
  ): Promise<PreparedRequest> {
    const owner = { workspaceId: credential.workspace.id, address: origin };
    const upload = options.uploads.open(owner, admitted.headers);
    try {
      const asked = clock.elapsed();
      const body = await exchange.body(maxBodyBytes, upload);
      tally.received(clock.elapsed() - asked);
      telemetry.progress(requestId, { kind: 'arrived' });
      return await options.prepare(body, dialect.surface);
    } finally {
      upload.close();
    }
  }

  function planFor(prepared: PreparedRequest, snapshot: Snapshot, { requestId, credential, tally }: Caller): Plan {
    try {
      return makePlan(prepared, {
        snapshot,
        allowedModels: credential.key.models,
        isListed: options.isListed,
        capabilitiesOf,
        turn: options.random(),
        health,
        affinityOf,
        boundsOf: tokenizers.boundsOf,
        placement: options.placement,
        ranked: (ranking) => telemetry.progress(requestId, { kind: 'ranked', ranking }),
      });
    } catch (error) {
      if (asFailure(error).code === 'no_capacity') {
        const id = modelNamed(snapshot, prepared.request.modelName)?.id ?? prepared.request.modelName;
        tally.planned(id);
        telemetry.unavailable(id);
      }
      throw error;
    }
  }

  /** Dispatches a request, relays its answer, and settles the bill before the answer's last words. */
  async function serve(work: Work): Promise<void> {
    const { requestId, exchange, dialect, admitted, prepared, plan, settlement, tally } = work;
    const { request } = prepared;
    const relay = relayAnswer({ exchange, dialect, identity: identityOf(work), request, headers: admitted.headers });
    const silence = keepAlive({ clock, everyMs: options.keepAliveMs, speak: relay.keepAlive });
    let wasBegun = false;
    let reason: Failure | undefined;
    try {
      const end = await start(work, relay, silence.sent).ended;
      tally.answered(clock.elapsed());
      telemetry.progress(requestId, { kind: 'answered' });
      // Whether the caller left or the connection broke on our side decides what is billed.
      const wasLost = end.kind !== 'completed' && end.attempts > 0 && (await exchange.lost());
      wasBegun = exchange.started();
      if (end.kind === 'failed' && end.attempts === 0) {
        telemetry.unavailable(plan.model.id);
        if (!wasBegun) throw attemptsFailed(end, plan, request);
      }
      const bill = await settlement.settle(outcomeOf(end, work, { wasBegun, wasLost }), end);
      tally.settled(bill);
      telemetry.progress(requestId, { kind: 'recorded' });
      // Before the caller hears the last word: its next request must find the slot free.
      await admitted.release();
      if (end.kind === 'completed') relay.finish(bill);
      if (end.kind === 'failed') reason = attemptsFailed(end, plan, request);
      if (reason !== undefined && !wasBegun && !wasLost) throw reason;
    } finally {
      silence.stop();
      // Whatever happened, an answer that was begun ends in words that its client knows (docs/reference/api.md §7.3).
      if (exchange.started()) relay.fail(reason);
    }
  }

  function start(work: Work, relay: Relay, sent: () => void): Dispatch {
    const { exchange, settlement, tally } = work;
    /** The way of each piece of the answer from `relay` of dispatch, or the search loop, to the caller. */
    const deliver = (events: readonly RelayedEvent[]): void => {
      sent();
      settlement.take(events);
      if (relay.push(events)) return;
      running.pause();
      exchange.onDrain(running.resume);
    };
    const { search } = options;
    const attempting = (reason: AttemptReason): void => tally.attempting(reason, clock.elapsed());
    const ask = { ...work, signal: exchange.signal, deliver, attempting };
    const running =
      search !== undefined && takesRounds(work.prepared.request)
        ? runSearchLoop(ask, { ...options, search })
        : callModel(ask, options);
    return running;
  }

  function refuse(exchange: Exchange, { dialect, tally }: Asking, error: unknown): void {
    // The caller left before the request was complete: there is nothing to answer.
    if (exchange.signal.aborted && error === exchange.signal.reason) tally.abandoned();
    else {
      const failure = asFailure(error);
      tally.failed(failure);
      replyFailure(exchange, failure, dialect);
    }
    telemetry.ended(tally.end(clock.elapsed()));
  }

  return {
    inFlight: () => inFlight,
    handle: (exchange) => {
      const { head } = exchange;
      const { kind, dialect } = operationOf(head);
      const requestId = dialect.idPrefixes.request + newId();
      const correlationId = correlationIdOf(head);
      const trace = kind === 'answer' ? options.traceOf?.(head) : undefined;
      const traceId = trace?.place.isSampled === true ? trace.place.traceId : undefined;
      const { surface } = dialect;
      const tally = createRequestTally({ requestId, correlationId, traceId, surface }, clock.elapsed());
      const asking: Asking = { requestId, correlationId, trace, dialect, tally };
      if (kind === 'answer') {
        inFlight += 1;
        void complete(exchange, asking)
          .then(
            () => telemetry.ended(tally.end(clock.elapsed())),
            (error: unknown) => refuse(exchange, asking, error),
          )
          .finally(() => {
            inFlight -= 1;
            telemetry.over(requestId);
          });
        return;
      }
      if (kind === 'models') {
        const reply = (models: ModelPatterns | undefined): void => replyModels(exchange, options.modelList(models));
        const models = listedModels(head, options);
        if (models instanceof Promise)
          void models.then(reply).catch((error: unknown) => refuse(exchange, asking, error));
        else reply(models);
        return;
      }
      try {
        replyFixed(exchange, kind);
      } catch (error) {
        refuse(exchange, asking, error);
      }
    },
  };
}

function identityOf({ requestId, startedAt, plan }: Work) {
  return { id: requestId, created: Math.floor(startedAt / 1000), model: plan.model.id };
}

interface RequestEnding {
  /** The caller has the status of a success already. */
  readonly wasBegun: boolean;
  /** The connection to the caller broke on our side. */
  readonly wasLost: boolean;
}

/** How the end of an answer is billed. */
function outcomeOf(end: DispatchEnd, { prepared }: Work, { wasBegun, wasLost }: RequestEnding): OutcomeKind {
  if (wasLost) return 'service-lost';
  return end.kind === 'failed' && wasBegun && !prepared.request.stream ? 'incomplete' : end.kind;
}
