import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import type { RequestObject, RequestDetailObject, RequestStoryObject } from '../../../src/portal/api/requests.ts';
import { call, withQuery } from '../data/api.ts';
import { formatCount, formatExactMoney, formatMs, formatPreciseMoment, orUnknown } from '../format/format.ts';
import { Badge } from '../parts/badge.tsx';
import { Button } from '../parts/button.tsx';
import { Copy } from '../parts/copy.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { Facts } from '../parts/page.tsx';
import { Loaded, Notice } from '../parts/states.tsx';
import { outcomes } from './outcomes.ts';

/** How one request was served, and its cost. */
export function RequestDialog({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const detail = useQuery({
    queryKey: ['request', id],
    queryFn: () => call<RequestDetailObject>(`/requests/${encodeURIComponent(id)}`),
  });
  return (
    <Dialog title="Request" isOpen isWide onClose={onClose}>
      <WholeId text={id} label="request id" />
      <Loaded query={detail} lines={5}>
        {({ request, story, matches }) => (
          <>
            {matches.length > 1 && <Matches of={matches} />}
            {story !== null && story.why !== null && (
              <Notice tone={story.outcome === 'refused' ? 'warn' : 'bad'}>
                <strong>Why:</strong> {story.why}
              </Notice>
            )}
            {story === null || story.attempts === null ? (
              <p className="muted">
                The attempts of a request that did not fail are known for the last thousand requests of each service
                only.
              </p>
            ) : (
              <TimeLine story={story} attempts={story.attempts} />
            )}
            {request === null ? (
              <>
                <p>No bill: the request was refused, or it has not ended.</p>
                {story !== null && <Refused of={story} />}
              </>
            ) : (
              <Bill of={request} />
            )}
          </>
        )}
      </Loaded>
      <div className="actions">
        <Button onPress={onClose}>Close</Button>
      </div>
    </Dialog>
  );
}

/** An id in one line, with a button that copies it. */
function WholeId({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <span className="whole-id">
      <code title={text}>{text}</code>
      <Copy text={text} label={label} size="small" />
    </span>
  );
}

/** The key of a request by its name. The link leads to the key in the list of keys. */
function KeyLink({
  id,
  name,
  workspace,
}: {
  readonly id: string;
  readonly name: string | null;
  readonly workspace: string;
}) {
  return (
    <span className="cell-name">
      <Link href={withQuery('/keys', { workspace, search: id })}>{name ?? id}</Link>
      <WholeId text={id} label="key id" />
    </span>
  );
}

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

/** The requests that were sent with one `x-request-id`: the newest is shown below. */
function Matches({ of }: { readonly of: RequestDetailObject['matches'] }) {
  return (
    <section className="stack" aria-label="Requests with this x-request-id">
      <p>{of.length} requests were sent with this x-request-id. The newest is shown:</p>
      <ul>
        {of.map(({ id, started_at, model, outcome }) => (
          <li key={id}>
            <code>{id}</code>, {formatPreciseMoment(started_at)}, {model ?? 'no model'}, {outcome ?? 'under way'}
          </li>
        ))}
      </ul>
    </section>
  );
}

interface TimeLineProps {
  readonly story: RequestStoryObject;
  readonly attempts: readonly Attempt[];
}

/** The attempts of a request over its time. Each line repeats its bar in words. */
function TimeLine({ story, attempts }: TimeLineProps) {
  const times = attempts.flatMap(({ began_ms, first_output_ms, ended_ms }) => [began_ms, first_output_ms, ended_ms]);
  const wholeMs = Math.max(1, story.duration_ms ?? 0, ...times.map((time) => time ?? 0));
  const at = (ms: number): string => `${(ms / wholeMs) * 100}%`;
  return (
    <section className="stack" aria-label="Attempts">
      {attempts.length === 0 && <p>The request was not sent to a route.</p>}
      <ol className="timeline">
        {attempts.map((attempt, index) => (
          // Attempts are only appended, so the index serves as an id.
          <li key={index} className="timeline-row">
            <div>
              <strong>{reasons[attempt.reason]}</strong>
              <div className="small muted">{[attempt.route, attempt.endpoint].filter(Boolean).join(', ')}</div>
              {attempt.backend !== null && (
                <Link className="small" href={withQuery('/backends', { backend: attempt.backend })}>
                  Backend {attempt.backend}
                </Link>
              )}
            </div>
            <div className="timeline-track" aria-hidden>
              <div
                className="timeline-span"
                data-tone={attempt.end === 'failed' ? 'bad' : attempt.end === 'complete' ? undefined : 'muted'}
                style={{ left: at(attempt.began_ms), width: at((attempt.ended_ms ?? wholeMs) - attempt.began_ms) }}
              />
              {attempt.first_output_ms !== null && (
                <div className="timeline-mark" style={{ left: at(attempt.first_output_ms) }} />
              )}
            </div>
            <p className="timeline-note">{inWords(attempt)}</p>
          </li>
        ))}
      </ol>
      <Summary of={story} />
    </section>
  );
}

function Summary({
  of: { first_output_ms: firstMs, duration_ms: wholeMs, plan, failure },
}: {
  readonly of: RequestStoryObject;
}) {
  const sentences = [
    firstMs !== null ? `First output to the caller after ${formatMs(firstMs)}.` : '',
    wholeMs !== null ? `It took ${formatMs(wholeMs)} in all.` : '',
    plan?.routes.length ? `Planned: ${plan.routes.map(({ route }) => route).join(', ')}.` : '',
    failure ? `The caller got ${failure.status} ${failure.code}.` : '',
  ];
  return <p className="small muted">{sentences.filter(Boolean).join(' ')}</p>;
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
  const ending = end === null ? 'under way' : `${ends[end]}${why}`;
  const when = ended_ms === null ? '' : ` at ${formatMs(ended_ms)}`;
  return `Asked at ${formatMs(began_ms)}, ${output}, ${ending}${when}.${pick === null ? '' : pickInWords(pick)}`;
}

/** Whether the request has counts. It has none if no engine answered. */
function isCounted({
  outcome,
  prompt_tokens: prompt,
  completion_tokens: output,
  web_searches: searches,
}: RequestObject): boolean {
  return outcome === 'completed' || prompt + output + (searches ?? 0) > 0;
}

/** What is known of a request that was not settled. */
function Refused({ of }: { readonly of: RequestStoryObject }) {
  return (
    <Facts
      facts={[
        { name: 'Started', value: formatPreciseMoment(of.started_at) },
        ...(of.refused_in_minute === null
          ? []
          : [{ name: 'Refused like it in that minute', value: formatCount(of.refused_in_minute) }]),
        { name: 'Model', value: of.model ?? 'none of the catalog' },
        { name: 'Key', value: of.key === null ? 'no valid key' : <WholeId text={of.key} label="key id" /> },
        ...(of.correlation_id === null
          ? []
          : [{ name: 'x-request-id', value: <WholeId text={of.correlation_id} label="x-request-id" /> }]),
      ]}
    />
  );
}

function Bill({ of }: { readonly of: NonNullable<RequestDetailObject['request']> }) {
  const { word, tone } = outcomes[of.outcome];
  const count = (value: number | null): string => orUnknown(value, formatCount);
  return (
    <Facts
      facts={[
        { name: 'Outcome', value: <Badge tone={tone}>{word}</Badge> },
        { name: 'Cost', value: formatExactMoney(of.cost) },
        { name: 'Model', value: of.model },
        ...(of.route === null ? [] : [{ name: 'Delivered by', value: of.route }]),
        { name: 'Started', value: formatPreciseMoment(of.started_at) },
        { name: 'Prompt tokens', value: count(of.prompt_tokens) },
        { name: 'of them cached', value: count(of.cached_tokens) },
        { name: 'Output tokens', value: count(of.completion_tokens) },
        { name: 'of them reasoning', value: count(of.reasoning_tokens) },
        ...(isCounted(of) ? [{ name: 'Counted by', value: of.counted_by }] : []),
        { name: 'Web searches', value: count(of.web_searches) },
        { name: 'Surface', value: `${of.surface}, ${of.stream ? 'streamed' : 'whole'}` },
        { name: 'Workspace', value: of.workspace },
        { name: 'Key', value: <KeyLink id={of.key} name={of.key_name} workspace={of.workspace} /> },
        { name: 'x-request-id', value: <WholeId text={of.correlation_id} label="x-request-id" /> },
      ]}
    />
  );
}
