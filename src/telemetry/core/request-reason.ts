import { causes } from '../../core/cause.ts';
import { type FailureCode, failures } from '../../core/failure.ts';
import { reachedText, refusingLimits } from '../../core/refusing-limit.ts';
import type { SettledRequest } from '../../core/settled-request.ts';
import { readAttemptLog } from './attempt-log.ts';
import { failureFrom } from './ledger-story.ts';
import type { Story } from './story.ts';

type WhyFailed = Pick<Story, 'outcome' | 'failure' | 'refused_for' | 'attempts'>;

type AttemptFault = NonNullable<NonNullable<Story['attempts']>[number]['fault']>;

const words = (name: string): string => name.replaceAll(/[-_]/g, ' ');

/** The words for a fault in the ledger (`faultName`). */
function faultWords(name: string): string {
  const [kind = '', status] = name.split(' ');
  if (status === undefined) return words(kind);
  return kind === 'status' ? `HTTP ${status}` : `${words(kind)}, HTTP ${status}`;
}

type FailedRow = Pick<SettledRequest, 'kind' | 'modelId' | 'fault' | 'failure' | 'attemptLog'>;

/** Why a settled request failed, in a few words. Undefined: it did not, or its row is of a version that kept no reason. */
export function reasonOfRow(row: FailedRow, reader: ReasonReader): string | undefined {
  const { kind, modelId, fault, failure, attemptLog } = row;
  const attempts = attemptLog === undefined ? null : [...readAttemptLog(attemptLog, modelId)];
  const known = reasonOf({ outcome: kind, ...failureFrom(failure), attempts }, reader);
  return known ?? (fault === undefined ? undefined : `last fault: ${faultWords(fault)}`);
}

/** Envoy's response flags for a call without an answer from an engine. */
const envoyFlags: Readonly<Record<string, string>> = {
  UH: 'no endpoint passes its health check',
  UF: 'the connection failed',
  UC: 'the connection ended',
  UO: 'the backend has all the requests that it may have',
  NC: 'Envoy does not have the backend yet',
};

/** Why an attempt failed, in words: its cause, or else its kind; in brackets what is known further. */
export function faultText({ kind, cause, ...facts }: AttemptFault): string {
  const known = cause === null ? factsOf(facts) : factsOf({ ...facts, engine_error: null, envoy_flags: null });
  const text = cause === null ? words(kind) : `it ${causes[cause].says}`;
  return known.length === 0 ? text : `${text} (${known.join(', ')})`;
}

function factsOf({
  status,
  engine_error: error,
  about,
  envoy_flags: flags,
  said,
}: Omit<AttemptFault, 'kind' | 'cause'>) {
  return [
    ...(status === null ? [] : [`HTTP ${status}`]),
    ...(error === null ? [] : [`the engine reports ${words(error)}`]),
    ...(about === null ? [] : [`about ${about}`]),
    ...(flags === null ? [] : [envoyFlags[flags] ?? `Envoy ${flags}`]),
    ...(said === undefined ? [] : [`“${said}”`]),
  ];
}

/** The failures that say little by their names. All others are the words of their code. */
const failureTexts: Partial<Readonly<Record<FailureCode, string>>> = {
  unauthenticated: 'no valid key',
  insufficient_funds: 'balance or budget used up',
  rate_limited: 'too many requests',
  no_capacity: 'no route had room',
  attempts_failed: 'every attempt failed',
  stream_interrupted: 'the answer broke off',
  upstream_incomplete: 'the answer could not be completed',
};

/** The reader of a reason. Members see the kind and the HTTP status of a fault, and nothing that an engine said. */
export type ReasonReader = 'admin' | 'member';

/**
 * Why a request was refused or failed, in a few words for a row of a list: what the caller got, and what the last
 * failed attempt met. Undefined: it was answered, its caller left, or the reason is not known.
 */
export function reasonOf({ outcome, failure, refused_for: cause, attempts }: WhyFailed, reader: ReasonReader) {
  if (outcome === null || outcome === 'completed' || outcome === 'cancelled') return undefined;
  const fault = attempts?.findLast((attempt) => attempt.fault !== null)?.fault ?? undefined;
  const status = failure === null || failure.status === 200 ? [] : [String(failure.status)];
  const failed = failure === null ? [] : [failureTexts[failure.code] ?? words(failure.code)];
  const limit = failure === null ? null : limitFor(failure, reader);
  const limited = limit === null ? [] : [`limit: ${refusingLimits[limit]}`];
  const reached = reader === 'admin' && failure?.reached !== undefined ? [reachedText(failure.reached)] : [];
  const about = failure === null || failure.about.length === 0 ? [] : [`about ${failure.about.join(' and ')}`];
  const said = cause === null || reader === 'member' ? [] : [`the routes said: ${words(cause)}`];
  const met = fault === undefined ? [] : [`last fault: ${faultFor(fault, reader)}`];
  const parts = [...status, ...failed, ...limited, ...reached, ...about, ...said, ...met];
  return parts.length === 0 ? undefined : parts.join(', ');
}

/** Members see the limits of their own keys and requests, and none of the service. */
export function limitFor({ code, limit }: NonNullable<Story['failure']>, reader: ReasonReader) {
  return reader === 'admin' || failures[code].blame === 'caller' ? limit : null;
}

function faultFor(fault: AttemptFault, reader: ReasonReader): string {
  if (reader === 'admin' && fault.cause !== null) return faultText(fault);
  const seen =
    reader === 'admin' ? fault : { ...fault, engine_error: null, about: null, envoy_flags: null, said: undefined };
  const known = factsOf(seen);
  return known.length === 0 ? words(fault.kind) : known.join(', ');
}
