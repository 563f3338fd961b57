import { causeNamed } from '../../core/cause.ts';
import { engineErrors, faultKinds } from '../../core/event.ts';
import { attemptReasons, attemptSteps } from '../../gateway/core/telemetry.ts';
import type { RequestRecord } from './request-record.ts';
import { attemptEnds, type Story } from './story.ts';

type ToldAttempt = NonNullable<Story['attempts']>[number];

/** Maximum length of a log, characters. Attempts that do not fit are left out: a host name may be long. */
const maxLog = 800;

/**
 * The attempts of a request as a text for the ledger, with `; ` between them. Words of an attempt: the positions of its
 * reason, its step and its end in their lists, its backend, its endpoint, and the milliseconds until it began, had
 * output and ended; then its fault, if it had one (kind, HTTP status, engine's error, part of the request, Envoy's
 * flags, cause). `-`: absent. Names and counts alone: never text of an engine or a caller.
 */
export function writeAttemptLog({ attempts, begun }: Pick<RequestRecord, 'attempts' | 'begun'>): string | undefined {
  const since = (moment: number | undefined): string =>
    moment === undefined ? '-' : String(Math.max(0, Math.round(moment - begun)));
  let log = '';
  for (const { reason, step, end, backend, endpoint, beganAt, outputAt, endedAt, fault } of attempts) {
    const traits = [
      ...[attemptReasons.indexOf(reason), attemptSteps.indexOf(step)],
      end === undefined ? '-' : attemptEnds.indexOf(end),
    ].join('');
    const met =
      fault === undefined
        ? []
        : [
            [fault.kind, fault.status, fault.engineError, fault.about, fault.flags, fault.cause]
              .map((part) => part ?? '-')
              .join('/'),
          ];
    const words = [traits, backend, endpoint, since(beganAt), since(outputAt), since(endedAt), ...met].join(' ');
    const longer = log === '' ? words : `${log}; ${words}`;
    if (longer.length > maxLog) break;
    log = longer.replace(/(?:\/-)+$/, '');
  }
  return log === '' ? undefined : log;
}

/** The attempts of a log, for the story of a request. What a newer version has written otherwise is left out. */
export function readAttemptLog(log: string, model: string): readonly ToldAttempt[] {
  return log.split('; ').flatMap((text): readonly ToldAttempt[] => {
    const [traits = '', backend = '', endpoint = '', began, output, ended, fault] = text.split(' ');
    const [reason, step, end] = traits.split('');
    const known = { reason: attemptReasons[Number(reason)], step: attemptSteps[Number(step)] };
    if (known.reason === undefined || known.step === undefined || endpoint === '') return [];
    return [
      {
        ...{ route: `${model}@${backend}`, backend, endpoint, reason: known.reason, step: known.step, pick: null },
        began_ms: countOf(began) ?? 0,
        ...{ first_output_ms: countOf(output), ended_ms: countOf(ended) },
        ...{ end: attemptEnds[Number(end)] ?? null, fault: faultOf(fault), output_tokens: null },
      },
    ];
  });
}

const countOf = (text: string | undefined): number | null =>
  text !== undefined && /^\d+$/.test(text) ? Number(text) : null;

function faultOf(text: string | undefined): ToldAttempt['fault'] {
  const [name, status, error, about, flags, cause] = (text ?? '')
    .split('/')
    .map((part) => (part === '-' ? undefined : part));
  const kind = faultKinds.find((one) => one === name);
  if (kind === undefined) return null;
  return {
    ...{ kind, status: countOf(status), engine_error: engineErrors.find((one) => one === error) ?? null },
    ...{ about: about ?? null, envoy_flags: flags ?? null, cause: causeNamed(cause) ?? null },
  };
}
