import { accountOf, crowdedKey, unknownKey } from './accounts.ts';
import type { Call } from './caller.ts';
import { catalogsInForce, type MadeCatalog } from './check-catalog.ts';
import { letsIn } from './check-identities.ts';
import {
  type CountedCall,
  mayBeBlocked,
  mayRefuseCalls,
  mayRefuseRate,
  pastCalls,
  pastRate,
  refusalsOf,
} from './check-refusal.ts';
import { healedMs } from './check-stopped.ts';
import { believedStates } from './key-states.ts';
import type { Violate } from './invariants.ts';
import type { World } from './world-view.ts';

/** Between two confirmations of a key that is known. */
const confirmedMs = 5_000;

export interface StatusInvariants {
  /** When a request has ended. */
  readonly checkStatus: (call: Call) => void;
  /** When nothing runs any more. */
  readonly checkLimits: () => void;
}

/** Whether each status is the one that the request must get: no good request is refused, and no bad one is served. */
export function createStatusInvariants(world: World, violate: Violate): StatusInvariants {
  const { calls, plan } = world;
  const { graceMs, keyPlans, workspaces } = world.promised;
  const isCalm = (from: number, until: number): boolean =>
    world.spells.every(([begin, end]) => end < from || begin > until);
  const counted = (call: Call): CountedCall => ({
    startedAt: call.startedAt,
    headAt: call.headAt(),
    endedAt: call.end() === 'open' ? Infinity : call.endedAt(),
    status: call.status(),
  });
  const workspaceOf = ({ event }: Call): number | undefined => keyPlans[event.key]?.workspace;

  /** Whether a catalog leaves room for one token of the prompt, beside the cap of the answer. */
  function hasRoom({ event }: Call, { window }: MadeCatalog): boolean {
    const { maxTokens = event.surface === 'messages' ? 4_096 : 1 } = event;
    return window - maxTokens >= 1;
  }

  function mayGet(call: Call, status: number): boolean {
    const { event, startedAt } = call;
    const ended = { startedAt, endedAt: call.endedAt() };
    const catalogs = catalogsInForce(world.catalogs, ended, world.pauses);
    switch (status) {
      case 404:
        return event.surface === 'responses' && !plan.responses;
      case 400:
        return event.upload?.stalls === true || catalogs.some((catalog) => !hasRoom(call, catalog));
      case 401:
      case 403: {
        if (event.key === unknownKey) return status === 401;
        if (status === 401 && accountOf(event.key) !== undefined && letsIn(call, world) !== 'yes') return true;
        const key = { number: event.key, workspace: workspaceOf(call) ?? 0 };
        return refusalsOf(believedStates(key, ended, world)).has(status);
      }
      case 429:
        return mayBeLimited(call);
      // What a key may still spend is compared with the rows (`checkRefusedMoney`).
      case 402:
        return true;
      default:
        return false;
    }
  }

  /** Whether the service knew the key when the database went away, less than half an hour ago. */
  function mustBeKnown({ startedAt, key, program, endedAt, body }: Call): boolean {
    if (!body().includes('could not reach its accounts')) return false;
    const outage = plan.events.find(
      (event) => event.kind === 'locked' && event.at < startedAt && endedAt() < event.at + event.forMs,
    );
    if (outage === undefined || startedAt >= outage.at + graceMs - confirmedMs) return false;
    return calls.some(
      (other) =>
        other.key === key &&
        other.program === program &&
        other.status() === 200 &&
        other.endedAt() < outage.at &&
        other.startedAt > outage.at - confirmedMs,
    );
  }

  function mayBeLimited(call: Call): boolean {
    // Where endpoints have few places, all of them may be taken.
    if (plan.endpointPlaces !== undefined && !call.body().includes('Rate limit exceeded')) return true;
    if (!isCalm(call.startedAt - healedMs, call.endedAt())) return true;
    const own = counted(call);
    const ofKey = calls.filter(({ event }) => event.key === call.event.key);
    const ofWorkspace = calls.filter((other) => workspaceOf(other) === workspaceOf(call)).map(counted);
    const limit = keyPlans[call.event.key];
    const { maxInFlight = 0, tokensPerMinute } = workspaces[workspaceOf(call) ?? 0] ?? {};
    return (
      limit === undefined ||
      // What its tokens a minute may refuse is compared with the model of limits.
      (limit.tokensPerMinute ?? tokensPerMinute) !== undefined ||
      mayBeBlocked(own, ofKey.map(counted)) ||
      mayRefuseRate(own, ofKey.map(counted), limit) ||
      mayRefuseCalls(own, ofWorkspace, maxInFlight)
    );
  }

  return {
    checkStatus: (call) => {
      const { event, startedAt } = call;
      const status = call.status();
      if (status !== undefined && status >= 500 && mustBeKnown(call))
        violate(
          'known key',
          `status ${status} although the database has been away for less than half an hour`,
          event.id,
        );
      if (status === undefined || status >= 500) return;
      if (status >= 400) {
        if (!mayGet(call, status)) violate('refusal', `status ${status}: ${call.body().slice(0, 300)}`, event.id);
        return;
      }
      if (event.key === unknownKey) violate('refusal', 'a key that nobody has made is served', event.id);
      if (accountOf(event.key) !== undefined && letsIn(call, world) === 'no')
        violate('token', `is served: ${JSON.stringify(event.token)}`, event.id);
      const catalogs = catalogsInForce(world.catalogs, { startedAt, endedAt: call.endedAt() }, world.pauses);
      if (catalogs.every((catalog) => !hasRoom(call, catalog)))
        violate('window', `served with a cap of ${event.maxTokens ?? 'the usual size'}`, event.id);
      const isForgotten = world.services.every((service) => {
        const since = service?.databaseDownSince();
        return since !== undefined && since + graceMs + confirmedMs < startedAt;
      });
      if (isForgotten) violate('stopped key', 'is served although the database has been away for too long', event.id);
    },
    checkLimits: () => {
      for (const [number, limit] of keyPlans.entries())
        for (const late of pastRate(calls.filter(({ event }) => event.key === number).map(counted), limit, isCalm))
          violate('rate', `key ${number} has one request too many at ${late.startedAt} ms`);
      const ofCrowded = calls
        .filter((call) => call.event.key === crowdedKey && isCalm(call.startedAt - healedMs, call.endedAt()))
        .map(counted);
      for (const late of pastCalls(ofCrowded, workspaces[3]?.maxInFlight ?? 0))
        violate('calls', `one request too many is in flight at ${late.headAt} ms`);
    },
  };
}
