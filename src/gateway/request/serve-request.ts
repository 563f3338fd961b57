import type { AnswerIdentity, WriteOptions } from '../../core/dialect.ts';
import type { RelayedEvent } from '../../core/event.ts';
import type { Failure } from '../../core/failure.ts';
import type { Headers } from '../../core/headers.ts';
import type { Funds } from '../../core/limits.ts';
import { type Bill, formatUsd } from '../../core/money.ts';
import type { Plan } from '../core/plan.ts';
import type { PreparedRequest } from '../../core/prompt.ts';
import type { OutcomeKind } from '../../core/settled-request.ts';
import { type Admitted, fundsOf } from '../admission/limits.ts';
import type { Dispatch } from '../dispatch/dispatch.ts';
import type { DispatchEnd } from '../dispatch/dispatch-end.ts';
import type { TokenCounters } from '../metering/meter.ts';
import { type Settlement, tokensOf } from '../metering/settle.ts';
import type { AdmittedRequest } from './accept-request.ts';
import { attemptsFailed, callModel, type ModelServices } from './call-model.ts';
import { callPieces } from './call-pieces.ts';
import { rankPieces } from './rank-pieces.ts';
import { type Relay, relayAnswer } from './relay.ts';
import { runSearchLoop, takesRounds, type WebSearch } from './search-loop.ts';

export interface ServeServices extends ModelServices, WriteOptions {
  /** Absent: the web is not searched, and earlier results cannot be sent back. */
  readonly search?: WebSearch | undefined;
  /** Longest silence towards a caller, milliseconds. */
  readonly keepAliveMs: number;
  /** Whether answers have headers about their cost. Absent: they have none. */
  readonly costHeaders?: 'off' | 'on' | undefined;
}

/** A request that passed every check. Its expected cost is reserved. */
export interface PlannedRequest extends AdmittedRequest {
  readonly prepared: PreparedRequest;
  readonly plan: Plan;
  readonly counters: TokenCounters | undefined;
  readonly settlement: Settlement;
}

/** Dispatches a request, relays its answer, and settles the bill before the answer's last piece. */
export async function serveRequest(planned: PlannedRequest, services: ServeServices): Promise<void> {
  const { exchange, dialect, admitted, prepared, plan, settlement, watch } = planned;
  const { request } = prepared;
  const costs = services.costHeaders === 'on';
  const relay = relayAnswer({
    ...{ exchange, dialect, identity: identityOf(planned), request },
    ...{
      headers: admitted.headers(),
      early: costs ? budgetHeader(fundsOf(planned.credential)) : [],
      writing: services,
    },
    ...{ clock: services.clock, keepAliveMs: services.keepAliveMs },
  });
  let reason: Failure | undefined;
  try {
    const dispatched = await dispatchRequest(planned, relay, services).ended;
    const end = asSent(dispatched, { isBegun: request.stream && exchange.started() });
    watch.progress({ kind: 'answered' });
    // Whether the caller left or the connection broke on our side decides what is billed.
    const wasLost = end.kind !== 'completed' && end.attempts > 0 && (await exchange.lost());
    const wasBegun = exchange.started();
    const failure = end.kind === 'failed' ? attemptsFailed(end, plan, request) : undefined;
    if (failure !== undefined && end.attempts === 0) {
      watch.progress({ kind: 'unavailable' });
      if (!wasBegun) throw failure;
    }
    const bill = await settlement.settle(outcomeOf(end, request, { wasBegun, wasLost }), { ...end, failure });
    watch.progress({ kind: 'recorded' });
    // The caller's next request, sent after the last piece of this answer, must find the slot free.
    await admitted.release({ tokens: tokensOf(bill.usage) });
    if (end.kind === 'completed') {
      const sending = relay.finish(bill, costs ? await costHeaders(bill, admitted) : undefined);
      if (sending instanceof Promise) await sending;
    }
    reason = failure;
    if (reason !== undefined && !wasBegun && !wasLost) throw reason;
  } finally {
    relay.stop();
    // An answer that was begun always ends in a form that its client knows (docs/reference/api.md §7.3).
    if (exchange.started()) relay.fail(reason);
  }
}

/** Headers about the money of an answer (docs/reference/api.md §2.4), for an answer that begins when its bill is made. */
async function costHeaders({ cost }: Bill, { left }: Pick<Admitted, 'left'>): Promise<Headers> {
  return [['x-weir-cost', formatUsd(cost)], ...budgetHeader(await left())];
}

const budgetHeader = (funds: Pick<Funds, 'budget'> | undefined): Headers =>
  funds?.budget === undefined ? [] : [['x-weir-budget-remaining', formatUsd(funds.budget)]];

/** Dispatches a request to its routes, and searches the web if the request may search. */
function dispatchRequest(planned: PlannedRequest, relay: Relay, services: ServeServices): Dispatch {
  const { exchange, settlement } = planned;
  /** Passes each piece of the answer to the settlement and the caller. A full connection to the caller pauses the engines. */
  const deliver = (events: readonly RelayedEvent[]): void => {
    settlement.take(events);
    if (relay.push(events)) return;
    running.pause();
    exchange.onDrain(running.resume);
  };
  const { search } = services;
  const { request } = planned.prepared;
  const { task } = request;
  const call = { ...planned, signal: exchange.signal, deliver };
  const running =
    task !== undefined
      ? (task.kind === 'rerank' ? rankPieces : callPieces)({ ...call, task }, services)
      : search !== undefined && takesRounds(request)
        ? runSearchLoop(call, { ...services, search })
        : callModel(call, services);
  return running;
}

function identityOf({ requestId, startedAt, plan }: PlannedRequest): AnswerIdentity {
  return { id: requestId, created: Math.floor(startedAt / 1000), model: plan.model.id };
}

/**
 * An answer that broke off before any of it was sent has failed, although an engine had begun it: all of its output was held back
 * (a search call, text that may become a mark).
 */
function asSent(end: DispatchEnd, { isBegun }: { readonly isBegun: boolean }): DispatchEnd {
  if (end.kind !== 'interrupted' || isBegun) return end;
  const { attempts, routes, lastFault } = end;
  return { kind: 'failed', attempts, routes, lastFault, isPartial: true };
}

interface RequestEnding {
  /** The caller already has the status of a success. */
  readonly wasBegun: boolean;
  /** The connection to the caller broke on our side. */
  readonly wasLost: boolean;
}

function outcomeOf(
  end: DispatchEnd,
  { stream }: Pick<PreparedRequest['request'], 'stream'>,
  { wasBegun, wasLost }: RequestEnding,
): OutcomeKind {
  if (wasLost) return 'service-lost';
  return end.kind === 'failed' && wasBegun && !stream ? 'incomplete' : end.kind;
}
