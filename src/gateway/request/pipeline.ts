/**
 * One request's life. Read this first: `answer`, `complete` and `completeAdmitted` have one line per stage, in order.
 */
import type { Exchange } from '../../core/exchange.ts';
import { readTags, withOwnTags } from '../../core/tags.ts';
import type { Failure } from '../../core/failure.ts';
import type { Health } from '../core/health.ts';
import type { Limits } from '../../core/limits.ts';
import type { BegunRequest, RequestWatch, Telemetry } from '../core/telemetry.ts';
import { identifyCaller } from '../admission/identify-caller.ts';
import { admit } from '../admission/limits.ts';
import { checkLoad, checkQueue, type LoadGuard } from '../admission/overload.ts';
import { checkDeclaredSize } from '../admission/uploads.ts';
import { createWorkspaceShares, type WorkspaceShares } from '../admission/workspace-shares.ts';
import type { Snapshots } from '../../control/catalog/snapshots.ts';
import type { AnswerLengths } from '../metering/expected-output.ts';
import { createSettlement } from '../metering/settle.ts';
import type { RoutingView } from '../routing/health/route-status.ts';
import { checkContext } from '../routing/plan.ts';
import {
  type AcceptServices,
  type AdmittedRequest,
  type ArrivedRequest,
  beginRequest,
  type BeginServices,
  checkLedger,
  readPrompt,
} from './accept-request.ts';
import { answerCount } from './count-tokens.ts';
import { operationOf, type OtherServices, replyOther } from './operation.ts';
import {
  checkWait,
  countersFor,
  countingOf,
  planDocuments,
  planRequest,
  type PlanServices,
  planForCaches,
} from './plan-request.ts';
import { replyRefusal } from './reply.ts';
import { serveRequest, type ServeServices } from './serve-request.ts';

/** Everything that the stages of a request use. */
export interface PipelineServices extends BeginServices, AcceptServices, PlanServices, ServeServices, OtherServices {
  readonly telemetry: Telemetry;
  /** How busy the service is, and how busy it may be. */
  readonly load: LoadGuard;
  readonly limits: Limits;
  readonly snapshots: Snapshots;
  readonly health: Health & RoutingView;
  readonly answerLengths: AnswerLengths;
}

export type Pipeline = ReturnType<typeof createPipeline>;

interface PipelineState {
  inFlight: number;
  readonly workspaces: WorkspaceShares;
}

export function createPipeline(services: PipelineServices) {
  const state: PipelineState = { inFlight: 0, workspaces: createWorkspaceShares(services.load) };
  return {
    /** Requests under way, their settlement included. */
    inFlight: (): number => state.inFlight,
    /** Answers one exchange. Never throws: every failure is an answer. */
    handle: (exchange: Exchange): void => {
      const operation = operationOf(exchange.head, services);
      const { kind, dialect } = operation;
      const begun = beginRequest(exchange.head, operation, services);
      if (kind === 'answer' || kind === 'count-tokens') {
        const watch = kind === 'answer' ? services.telemetry.begin(begun) : watchRefusal(begun, services);
        void answer({ ...begun, kind, exchange, dialect, watch }, services, state);
        return;
      }
      replyOther(exchange, kind, services).catch((error: unknown) => {
        const failure = replyRefusal(exchange, error, dialect);
        if (failure !== undefined) services.telemetry.refused(begun, failure);
      });
    },
  };
}

/** Reports only the refusal of a request: one that calls no engine and costs nothing has no record. */
function watchRefusal(begun: BegunRequest, { telemetry }: Pick<PipelineServices, 'telemetry'>): RequestWatch {
  const nothing = (): undefined => undefined;
  return {
    progress: (step) => {
      if (step.kind === 'ended' && step.failure !== undefined) telemetry.refused(begun, step.failure);
    },
    attempt: () => ({ output: nothing, movedTo: nothing, ended: nothing }),
    attemptLog: nothing,
  };
}

/** Answers a request, with a refusal if it fails, and reports its end. */
async function answer(request: ArrivedRequest, services: PipelineServices, state: PipelineState): Promise<void> {
  const { exchange, dialect, watch } = request;
  let failure: Failure | undefined;
  state.inFlight += 1;
  try {
    await complete(request, services, state);
  } catch (error) {
    failure = replyRefusal(exchange, error, dialect);
  } finally {
    state.inFlight -= 1;
    watch.progress({ kind: 'ended', failure });
  }
}

async function complete(request: ArrivedRequest, services: PipelineServices, state: PipelineState): Promise<void> {
  const { kind, exchange, dialect, startedAt, watch } = request;
  const { load, random } = services;
  const arrival = { head: exchange.head, startedAt, openRequests: state.inFlight };
  checkLoad(arrival, { ...load, random });
  const { origin, caller } = await identifyCaller(exchange.head, dialect.keyHeaders, services);
  const { key, workspace } = caller.credential;
  watch.progress({ kind: 'authenticated', workspaceId: workspace.id, keyId: key.id });
  checkQueue(arrival, { ...load, random });
  const leave = state.workspaces.enter(workspace.id);
  try {
    const sent = withOwnTags(readTags(exchange.head), caller.tags);
    const how = kind === 'answer' ? { sent } : { isFree: true as const };
    const admitted = await admit(caller, services.limits, how);
    watch.progress({ kind: 'admitted' });
    try {
      const known = { ...request, origin, credential: caller.credential, tags: admitted.tags, admitted };
      await (kind === 'answer' ? completeAdmitted : answerCount)(known, services);
    } finally {
      await admitted.release();
    }
  } finally {
    leave();
  }
}

async function completeAdmitted(request: AdmittedRequest, services: PipelineServices): Promise<void> {
  const { exchange, admitted, watch } = request;
  const { tokenizers } = services;
  checkLedger(services.store);
  checkDeclaredSize(exchange.head);
  const prepared = await readPrompt(request, services);
  const { snapshot, release } = services.snapshots.hold();
  try {
    const asked = { request, prepared, snapshot };
    const planned = planRequest(asked, services);
    const context = { model: planned.model, tokenizers, counting: countingOf(planned, request) };
    const lengths = await checkContext(prepared, context);
    const plan = planForCaches(planDocuments(planned, prepared.request, lengths), asked, services);
    checkWait(plan, asked, services);
    const counters = countersFor(prepared, { ...context, counting: countingOf(plan, request) });
    const settlement = createSettlement(
      { ...request, prepared, plan, counters, searchPrice: services.search?.price, accrue: admitted.adjust },
      services,
    );
    await admitted.reserve(settlement.expected());
    watch.progress({ kind: 'dispatched', wouldRefuse: admitted.wouldRefuse() });
    await serveRequest({ ...request, prepared, plan, counters, settlement }, services);
  } finally {
    prepared.release();
    release();
  }
}
