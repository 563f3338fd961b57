import { Link } from 'wouter';
import type { RequestStoryObject } from '../../../src/portal/api/requests.ts';
import { withQuery } from '../data/api.ts';
import { formatCount, formatMs } from '../format/format.ts';

type Attempt = NonNullable<RequestStoryObject['attempts']>[number];

const reasons: Readonly<Record<Attempt['reason'], string>> = {
  first: 'First attempt',
  failover: 'Failover',
  hedge: 'Hedge',
  resume: 'Continuation',
};

const ends: Readonly<Record<NonNullable<Attempt['end']>, string>> = {
  complete: 'completed',
  failed: 'failed',
  beaten: 'another attempt was faster',
  aborted: 'aborted',
};

/** The attempts of a request over its time. Each line repeats its bar in words. */
export function RequestAttempts({ of }: { readonly of: RequestStoryObject | null }) {
  if (of === null || of.attempts === null) {
    return (
      <p className="muted">
        The attempts of a request that did not fail are known for the last thousand requests of each service only.
      </p>
    );
  }
  const { attempts, duration_ms, plan } = of;
  const times = attempts.flatMap(({ began_ms, first_output_ms, ended_ms }) => [began_ms, first_output_ms, ended_ms]);
  const wholeMs = Math.max(1, duration_ms ?? 0, ...times.map((time) => time ?? 0));
  const tried = new Set(attempts.map(({ route }) => route));
  const left = (plan?.routes ?? []).flatMap(({ route }) => (tried.has(route) ? [] : [route]));
  return (
    <section className="stack" aria-labelledby="attempts">
      <h3 id="attempts">Attempts</h3>
      {attempts.length === 0 && <p>The request was not sent to a route.</p>}
      <ol className="stack">
        {attempts.map((attempt, index) => (
          // Attempts are only appended, so the index serves as an id.
          <AttemptRow key={index} of={attempt} wholeMs={wholeMs} />
        ))}
      </ol>
      {left.length > 0 && <p className="small muted">Planned, and not needed: {left.join(', ')}.</p>}
    </section>
  );
}

function AttemptRow({ of: attempt, wholeMs }: { readonly of: Attempt; readonly wholeMs: number }) {
  const at = (ms: number): string => `${(ms / wholeMs) * 100}%`;
  return (
    <li className="timeline-row">
      <div>
        <strong>{reasons[attempt.reason]}</strong>
        <div className="small muted">{[attempt.route, attempt.endpoint].filter(Boolean).join(', ')}</div>
        {attempt.backend !== null && (
          <Link className="small" href={withQuery('/backends', { backend: attempt.backend })}>
            Backend {attempt.backend}
          </Link>
        )}
      </div>
      <div className="stack-tight">
        <div className="timeline-track" aria-hidden>
          <div
            className="timeline-span"
            data-tone={attempt.end === 'failed' ? 'bad' : attempt.end === 'complete' ? undefined : 'none'}
            style={{ left: at(attempt.began_ms), width: at((attempt.ended_ms ?? wholeMs) - attempt.began_ms) }}
          />
          {attempt.first_output_ms !== null && (
            <div className="timeline-mark" style={{ left: at(attempt.first_output_ms) }} />
          )}
        </div>
        <p className="small muted">{inWords(attempt)}</p>
      </div>
    </li>
  );
}

const picks: Readonly<Record<NonNullable<Attempt['pick']>['why'], string>> = {
  only: 'the only endpoint',
  holder: 'most of the prompt is in its cache',
  sooner: 'it answers sooner than one with more of the prompt in its cache',
  untried: 'it had no request yet',
  'least-work': 'it has least to do',
  explored: 'it had no request for long, and may be faster now',
};

function pickInWords({ why, held_tokens, expected_first_token_ms }: NonNullable<Attempt['pick']>): string {
  const held = `${formatCount(held_tokens)} tokens of the prompt cached`;
  return ` Picked: ${picks[why]} (${held}, first token expected after ${formatMs(expected_first_token_ms)}).`;
}

function inWords({ began_ms, first_output_ms, ended_ms, end, why_failed, pick }: Attempt): string {
  const output = first_output_ms === null ? 'no output' : `first output at ${formatMs(first_output_ms)}`;
  const why = why_failed === null ? '' : `: ${why_failed}`;
  const ending = end === null ? 'in flight' : `${ends[end]}${why}`;
  const when = ended_ms === null ? '' : ` at ${formatMs(ended_ms)}`;
  return `Sent at ${formatMs(began_ms)}, ${output}, ${ending}${when}.${pick === null ? '' : pickInWords(pick)}`;
}
