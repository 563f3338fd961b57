import type { Ranking } from '../../gateway/core/plan.ts';
import { billOf, countOf, headOf } from '../core/ledger-story.ts';
import type { Story } from '../core/story.ts';
import type { AttemptNote, FailureFacts, RequestRecord } from '../core/request-record.ts';

/** Renders the record of a request as its story. Called when the story is read. */
export function storyOf(record: RequestRecord): Story {
  const { outcome, failure, attempts, overAt, begun } = record;
  return {
    ...headOf(record, 'service'),
    first_output_ms: outcome?.firstTokenMs ?? null,
    duration_ms: outcome?.durationMs ?? (overAt === undefined ? null : rounded(overAt - begun)),
    outcome: outcome?.kind ?? (failure === undefined ? null : 'refused'),
    failure: failure === undefined ? null : errorOf(failure),
    refused_for: outcome?.refusedFor ?? null,
    route: outcome?.routeId ?? null,
    attempt_count: record.attemptCount,
    hedge_count: countOf(attempts, 'hedge'),
    failover_count: countOf(attempts, 'failover'),
    resume_count: countOf(attempts, 'resume'),
    waits: waitsOf(record),
    plan: record.ranking === undefined ? null : planOf(record.ranking),
    attempts: attempts.map((attempt) => attemptOf(attempt, begun)),
    searches: record.searches.map(({ provider, result, durationMs, endedAt }) => ({
      provider,
      result,
      began_ms: rounded(endedAt - durationMs - begun),
      duration_ms: rounded(durationMs),
    })),
    bill: outcome === undefined ? null : billOf(outcome),
    refused_in_minute: null,
  };
}

function errorOf({ code, row, about, limit, reached }: FailureFacts): Story['failure'] {
  return { code, status: row.status, about: [...about], limit: limit ?? null, reached: reached && [...reached] };
}

/** Rounds to tenths of a millisecond. The clock is finer, but readers do not need that. */
function rounded(ms: number): number {
  return Math.max(0, Math.round(ms * 10) / 10);
}

function waitsOf({ begun, admittedAt, readAt, dispatchedAt, settledAt, overAt }: RequestRecord): Story['waits'] {
  const between = (from: number | undefined, to: number | undefined): number | null =>
    from === undefined || to === undefined ? null : rounded(to - from);
  return {
    admission: between(begun, admittedAt),
    body: between(admittedAt, readAt),
    plan: between(readAt, dispatchedAt),
    record: between(settledAt, overAt),
  };
}

function planOf({ first, routes, leftOut }: Ranking): Story['plan'] {
  const all = routes.reduce((sum, { chance }) => sum + chance, 0);
  return {
    first: first ?? null,
    routes: routes.map((route) => ({
      route: route.routeId,
      state: route.state,
      chance: all === 0 ? 0 : Math.round((route.chance / all) * 1000) / 1000,
      success: Math.round(route.success * 1000) / 1000,
      validity: Math.round(route.validity * 1000) / 1000,
      in_flight: route.inFlight,
      capacity: route.capacity ?? null,
      expected_first_output_ms: route.firstOutputMs === undefined ? null : rounded(route.firstOutputMs),
    })),
    left_out: leftOut.map(({ routeId, why, lacks }) => ({ route: routeId, why, lacks: [...lacks] })),
  };
}

function attemptOf(note: AttemptNote, begun: number): NonNullable<Story['attempts']>[number] {
  const since = (moment: number | undefined): number | null => (moment === undefined ? null : rounded(moment - begun));
  const { fault, picked } = note;
  return {
    route: note.routeId,
    backend: note.backend,
    endpoint: note.endpoint,
    reason: note.reason,
    step: note.step,
    pick:
      picked === undefined
        ? null
        : {
            why: picked.why,
            held_tokens: Math.round(picked.heldTokens),
            expected_first_token_ms: rounded(picked.firstMs),
          },
    began_ms: rounded(note.beganAt - begun),
    first_output_ms: since(note.outputAt),
    ended_ms: since(note.endedAt),
    end: note.end ?? null,
    fault:
      fault === undefined
        ? null
        : {
            kind: fault.kind,
            status: fault.status ?? null,
            engine_error: fault.engineError ?? null,
            about: fault.about ?? null,
            envoy_flags: fault.flags ?? null,
            cause: fault.cause,
            said: fault.said,
          },
    output_tokens: note.facts?.usage?.completionTokens ?? null,
  };
}
