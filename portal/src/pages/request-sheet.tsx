import { keepPreviousData } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { RequestDetailObject, RequestObject, RequestStoryObject } from '../../../src/portal/api/requests.ts';
import { useAddress } from '../data/address.ts';
import { withQuery } from '../data/api.ts';
import { useRead } from '../data/calls.ts';
import { useSession } from '../data/session.ts';
import { formatCount, formatExactMoney, formatMs, formatPreciseMoment, orUnknown } from '../format/format.ts';
import { Copy } from '../parts/copy.tsx';
import { type Fact, Facts } from '../parts/page.tsx';
import { type Place, Sheet } from '../parts/sheet.tsx';
import { Loaded, Notice } from '../parts/states.tsx';
import { outcomes } from './outcomes.ts';
import { RequestAttempts } from './request-attempts.tsx';

interface RequestSheetProps {
  readonly id: string;
  /** Undefined: the list does not have it, for example because a link named it. */
  readonly place: Place | undefined;
  readonly onClose: () => void;
}

/** How one request was served, what it cost, and what to do if it failed. */
export function RequestSheet({ id, place, onClose }: RequestSheetProps) {
  const path = `/requests/${encodeURIComponent(id)}`;
  const detail = useRead<RequestDetailObject>(['request', id], path, { placeholderData: keepPreviousData });
  return (
    <Sheet title="Request" onClose={onClose} place={place}>
      <Loaded query={detail} lines={9}>
        {({ request, story, matches }) => {
          const known = request ?? story;
          return (
            <>
              {matches.length > 1 && <Matches of={matches} />}
              <Verdict request={request} story={story} />
              <RequestAttempts of={story} />
              <Bill of={request} story={story} />
              {known !== null && <About of={known} request={request} story={story} />}
            </>
          );
        }}
      </Loaded>
    </Sheet>
  );
}

/** The requests that were sent with one `x-request-id`: the newest is shown below. */
function Matches({ of }: { readonly of: RequestDetailObject['matches'] }) {
  const [selection] = useAddress();
  return (
    <section className="stack-tight" aria-label="Requests with this x-request-id">
      <p>{of.length} requests were sent with this x-request-id. The newest is shown:</p>
      <ul>
        {of.map(({ id, started_at, model, outcome }) => (
          <li key={id}>
            <Link href={withQuery('/requests', { ...selection, request: id })}>{formatPreciseMoment(started_at)}</Link>,{' '}
            {model ?? 'no model'}, {outcome ?? 'in flight'}
          </li>
        ))}
      </ul>
    </section>
  );
}

interface Parts {
  readonly request: RequestDetailObject['request'];
  readonly story: RequestStoryObject | null;
}

/** How the request ended, and what to do about it. */
function Verdict({ request, story }: Parts) {
  const outcome = request?.outcome ?? story?.outcome ?? null;
  const wholeMs = story?.duration_ms ?? request?.duration_ms ?? null;
  const firstMs = story?.first_output_ms ?? request?.first_token_ms ?? null;
  const { word, tone } = outcome === null ? { word: 'In flight', tone: 'none' as const } : outcomes[outcome];
  return (
    <Notice tone={tone}>
      <p>
        <strong>{word}</strong>
        {wholeMs !== null && ` after ${formatMs(wholeMs)}`}
        {firstMs !== null && `, first output after ${formatMs(firstMs)}`}
        {story?.why ? `: ${story.why}.` : '.'}
      </p>
      {story?.action && (
        <p>
          <strong>What to do:</strong> {story.action}.
        </p>
      )}
    </Notice>
  );
}

/** Names and values in one column. */
function Rows({ title, rows }: { readonly title: string; readonly rows: readonly Fact[] }) {
  return (
    <section className="stack-tight" aria-label={title}>
      <h3>{title}</h3>
      <Facts facts={rows} as="rows" />
    </section>
  );
}

/** Whether the request has counts. It has none if no engine answered. */
function isCounted(of: RequestObject): boolean {
  return of.outcome === 'completed' || of.prompt_tokens + of.completion_tokens + (of.web_searches ?? 0) > 0;
}

function Bill({ of, story }: { readonly of: Parts['request']; readonly story: Parts['story'] }) {
  if (of === null) {
    return <p className="muted">{story?.outcome === null ? 'The bill comes when it ends.' : 'Nothing was billed.'}</p>;
  }
  const { cached_tokens: cached, reasoning_tokens: reasoning, web_searches: searches } = of;
  const count = (name: string, value: number | null): Fact => ({ name, value: orUnknown(value, formatCount) });
  return (
    <Rows
      title="Bill"
      rows={[
        count('Prompt tokens', of.prompt_tokens),
        count('of them cached', cached),
        count('Output tokens', of.completion_tokens),
        count('of them reasoning', reasoning),
        ...(searches === null ? [] : [count('Web searches', searches)]),
        ...(isCounted(of) ? [{ name: 'Counted by', value: of.counted_by }] : []),
        { name: 'Cost', value: <strong>{formatExactMoney(of.cost)}</strong> },
      ]}
    />
  );
}

/** What the request was about, and its ids. */
function About({ of, request, story }: Parts & { readonly of: RequestObject | RequestStoryObject }) {
  const refused = story?.refused_in_minute ?? null;
  const ids = { 'request id': of.id, 'x-request-id': of.correlation_id, 'key id': of.key };
  const rows: readonly Fact[] = [
    { name: 'Started', value: formatPreciseMoment(of.started_at) },
    { name: 'Model', value: of.model ?? 'none of the catalog' },
    { name: 'Delivered by', value: request?.route },
    { name: 'Surface', value: of.stream === null ? of.surface : `${of.surface}, ${of.stream ? 'streamed' : 'whole'}` },
    { name: 'Workspace', value: request?.workspace },
    { name: 'Key', value: of.key === null ? 'no valid key' : request && <KeyLink of={request} /> },
    { name: 'Code', value: story?.failure && <code>{story.failure.code}</code> },
    { name: 'Limit', value: story?.failure?.limit && <code>{story.failure.limit}</code> },
    { name: 'Refused like it in that minute', value: refused !== null && formatCount(refused) },
    ...Object.entries(ids).map(([name, id]) => ({ name, value: id && <Id text={id} label={name} /> })),
  ];
  return <Rows title="Request" rows={rows.filter(({ value }) => Boolean(value))} />;
}

function KeyLink({ of }: { readonly of: NonNullable<Parts['request']> }) {
  const name = of.key_name ?? 'without a name';
  if (useSession().role === 'key') return name;
  return <Link href={withQuery('/keys', { workspace: of.workspace, search: of.key })}>{name}</Link>;
}

/** An id in one line, with a button that copies it. */
function Id({ text, label }: { readonly text: string; readonly label: string }): ReactNode {
  return (
    <span className="whole-id">
      <code className="cut" title={text}>
        {text}
      </code>
      <Copy text={text} label={label} size="small" />
    </span>
  );
}
