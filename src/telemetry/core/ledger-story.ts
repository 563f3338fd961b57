import { isCounted } from '../../core/account.ts';
import { refusalCauses } from '../../core/event.ts';
import { failures, isFailureCode } from '../../core/failure.ts';
import type { CountedRefusal } from '../../core/refused-request.ts';
import type { SettledRequest } from '../../core/settled-request.ts';
import { shownRequest } from '../../books/core/request-fields.ts';
import type { AttemptReason } from '../../gateway/core/telemetry.ts';
import { readAttemptLog } from './attempt-log.ts';
import type { Story } from './story.ts';

/** The part of a request's story that the ledger has: of a failed request with its error and its attempts. */
export function storyFromLedger(request: SettledRequest): Story {
  const { attemptLog, modelId } = request;
  const attempts = attemptLog === undefined ? undefined : [...readAttemptLog(attemptLog, modelId)];
  return {
    ...headOf(request, 'ledger'),
    first_output_ms: request.firstTokenMs ?? null,
    duration_ms: request.durationMs,
    outcome: request.kind,
    ...failureFrom(request.failure),
    route: request.routeId ?? null,
    attempt_count: request.attempts,
    hedge_count: attempts === undefined ? null : countOf(attempts, 'hedge'),
    failover_count: attempts === undefined ? null : countOf(attempts, 'failover'),
    resume_count: attempts === undefined ? null : countOf(attempts, 'resume'),
    attempts: attempts ?? null,
    ...{ waits: null, plan: null, searches: null },
    bill: billOf(request),
    refused_in_minute: null,
  };
}

/** The story of a refused request that the ledger has. Nothing was dispatched, so it has no attempts and no bill. */
export function storyOfRefusal(refusal: CountedRefusal): Story {
  const { code, about, limit = null, reached } = refusal;
  return {
    ...headOf(refusal, 'ledger'),
    duration_ms: refusal.durationMs,
    outcome: 'refused',
    failure: { code, status: failures[code].status, about: [...about], limit, reached: reached && [...reached] },
    ...{ first_output_ms: null, refused_for: null, route: null, waits: null, plan: null, bill: null },
    ...{ attempt_count: 0, hedge_count: 0, failover_count: 0, resume_count: 0, attempts: [], searches: [] },
    refused_in_minute: refusal.count,
  };
}

/** The part of a story that every request has: who asked for which model, and when. */
export function headOf(
  request: Pick<
    CountedRefusal,
    'requestId' | 'correlationId' | 'workspaceId' | 'keyId' | 'modelId' | 'surface' | 'stream' | 'startedAt'
  >,
  source: Story['source'],
) {
  return {
    id: request.requestId,
    correlation_id: request.correlationId === '' ? null : request.correlationId,
    source,
    workspace: request.workspaceId ?? null,
    key: request.keyId ?? null,
    model: request.modelId ?? null,
    surface: request.surface,
    stream: request.stream ?? null,
    started_at: new Date(request.startedAt).toISOString(),
  };
}

/** Reads the text that `failureName` writes. */
export function failureFrom(name = ''): Pick<Story, 'failure' | 'refused_for'> {
  const [code = '', cause, ...about] = name.split(' ');
  return {
    failure: isFailureCode(code) ? { code, status: failures[code].status, about, limit: null } : null,
    refused_for: refusalCauses.find((one) => one === cause) ?? null,
  };
}

export const countOf = (attempts: readonly { readonly reason: AttemptReason }[], wanted: AttemptReason): number =>
  attempts.reduce((count, { reason }) => count + Number(reason === wanted), 0);

export function billOf(outcome: SettledRequest): Story['bill'] {
  const { prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens, web_searches, cost } = shownRequest({
    outcome,
    workspace: outcome.workspaceId,
  });
  return {
    ...{ prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens, web_searches },
    counted_by: isCounted(outcome) ? outcome.countedBy : null,
    cost,
  };
}
