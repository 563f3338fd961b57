import { formatUsd, type Money, type Prices } from '../../core/money.ts';
import { reachedText, refusingLimits } from '../../core/refusing-limit.ts';
import { faultText } from '../../telemetry/core/request-reason.ts';
import type { Story } from '../../telemetry/core/story.ts';

interface TextOptions {
  /** Name of a workspace by its id. */
  readonly workspaces: (id: string) => string;
  /** Services that did not answer; their requests are missing. */
  readonly silent: readonly string[];
  /** Unit prices of the bill. Undefined: they are not known any more. */
  readonly prices?: Prices | undefined;
}

type Attempt = NonNullable<Story['attempts']>[number];
type Plan = NonNullable<Story['plan']>;

/** Renders a story in lines for a reader at a terminal. */
export function storyText(story: Story, options: TextOptions): string {
  return [
    endLine(story),
    arrivalLine(story, options),
    ...waitLines(story),
    ...(story.plan === null ? [] : planLines(story.plan)),
    ...(story.attempts ?? []).map((attempt, at) => attemptLine(attempt, at + 1)),
    ...unrememberedLines(story),
    ...(story.searches ?? []).map(
      ({ provider, result, began_ms: began, duration_ms: took }) =>
        `Web search at ${time(began)} with ${provider}: ${result === 'found' ? 'results' : words(result)} after ${time(took)}.`,
    ),
    billLine(story),
    ...priceLines(story, options),
    ...refusedLines(story),
    ...(story.source === 'ledger'
      ? [
          `The services have forgotten this request. The ledger has no plan${story.attempts === null ? ' and no single attempts' : ''}.`,
        ]
      : []),
    ...options.silent.map((service) => `Not asked, since it does not answer: ${service}.`),
  ].join('\n');
}

/** `1.2 s` or `35 ms`. */
function time(ms: number): string {
  return ms >= 1000 ? `${(ms / 1000).toFixed(2)} s` : `${Math.round(ms * 10) / 10} ms`;
}

const words = (name: string): string => name.replaceAll(/[-_]/g, ' ');
const percent = (share: number): string => `${Math.round(share * 100)} %`;

const ends: Readonly<Record<NonNullable<Story['outcome']>, string>> = {
  completed: 'was answered completely',
  cancelled: 'was cancelled: its caller left',
  interrupted: 'was interrupted after a part of the answer had been delivered',
  incomplete: 'could not be completed',
  failed: 'failed: no route delivered anything',
  'service-lost': 'was lost by the gateway: its own Envoy, or the connection to it, broke',
  refused: 'was refused',
};

function endLine({ id, outcome, failure, refused_for: reason, duration_ms: took }: Story): string {
  if (outcome === null) return `${id} is in flight.`;
  const error =
    failure === null
      ? ''
      : ` The caller got ${failure.code}${failure.status === 200 ? '' : ` (HTTP ${failure.status})`}${failure.about.length > 0 ? `, about ${failure.about.join(' and ')}` : ''}.`;
  const limit = failure?.limit ?? null;
  const reached = failure?.reached === undefined ? '' : `, ${reachedText(failure.reached)}`;
  const limited = limit === null ? '' : ` It reached a limit: ${refusingLimits[limit]} (${limit})${reached}.`;
  const why = reason === null ? '' : ` What the routes said: ${words(reason)}.`;
  return `${id} ${ends[outcome]}${took === null ? '' : `, after ${time(took)}`}.${error}${limited}${why}`;
}

function arrivalLine(story: Story, { workspaces }: TextOptions): string {
  const { surface, stream, model, workspace, key, correlation_id: correlation } = story;
  const form = stream === null ? '' : stream ? ' as a stream' : ' in one piece';
  const whose =
    workspace === null ? 'without an accepted key' : `with key ${key ?? '?'} of workspace ${workspaces(workspace)}`;
  const named = correlation === null ? '' : ` Its x-request-id is ${correlation}.`;
  return `It came at ${story.started_at} on the ${surface} surface, for ${model ?? 'no model of the catalog'}${form}, ${whose}.${named}`;
}

function waitLines({ waits, first_output_ms: first }: Story): readonly string[] {
  const { admission = null, body = null, plan = null } = waits ?? {};
  const parts = [
    ...(admission === null ? [] : [`${time(admission)} until key, limits and balance were checked`]),
    ...(body === null ? [] : [`${time(body)} until its body was read`]),
    ...(plan === null ? [] : [`${time(plan)} until it was planned and its cost reserved`]),
  ];
  return [
    ...(parts.length === 0 ? [] : [`It waited ${parts.join(', ')}.`]),
    ...(first === null ? [] : [`The caller got the first output after ${time(first)}.`]),
  ];
}

const firstReasons: Readonly<Record<NonNullable<Plan['first']>, string>> = {
  only: 'the only route that could serve it',
  standby: 'as no route with a weight was left',
  probe: 'to find out whether it is well again',
  affinity: 'as the route of this conversation',
  chance: 'by its chance',
  soonest: 'as it answers soonest',
};

function planLines({ first, routes, left_out: leftOut }: Plan): readonly string[] {
  const ordered = routes.map(({ route, chance, state, success, in_flight: busy, capacity }, at) => {
    const facts = [
      ...(routes.length > 1 ? [`chance ${percent(chance)}`] : []),
      ...(state === 'available' ? [] : [words(state)]),
      ...(success < 1 ? [`success ${percent(success)}`] : []),
      `${busy}${capacity === null ? '' : ` of ${capacity}`} in flight`,
    ];
    const why = at === 0 && first !== null ? `, ${firstReasons[first]}` : '';
    return `${at + 1}. ${route}${why} (${facts.join(', ')})`;
  });
  return [
    routes.length === 0 ? 'Plan: no route was left.' : `Plan: ${ordered.join('; ')}.`,
    ...leftOut.map(({ route, why, lacks }) => `Left out: ${route}: ${leftOutText(why, lacks)}.`),
  ];
}

function leftOutText(why: Plan['left_out'][number]['why'], lacks: readonly string[]): string {
  switch (why) {
    case 'cannot-serve':
      return `it cannot serve ${lacks.length === 0 ? 'this request' : lacks.join(' and ')}`;
    case 'full':
      return 'all its slots were taken';
    case 'ejected':
      return 'attempts on it failed or were slow lately';
    case 'invalid-structure':
      return 'its answers have been missing the requested structure';
    case 'other-vectors':
      return 'its vectors are others than those of the model, or not known';
  }
}

const reasons: Readonly<Record<Attempt['reason'], string>> = {
  first: 'first attempt',
  failover: 'after a failure',
  hedge: 'hedge while an attempt is silent',
  resume: 'continues the interrupted answer',
};

function attemptLine(attempt: Attempt, number: number): string {
  const { route, endpoint, reason, step, began_ms: began, first_output_ms: first, output_tokens: tokens } = attempt;
  const { pick } = attempt;
  const where = step === 'endpoint' ? ', on another endpoint' : step === 'route' ? ', on another route' : '';
  const output = first === null ? 'no output' : `first output at ${time(first)}`;
  const counted = tokens === null ? '' : `, ${tokens} output tokens`;
  return `Attempt ${number} at ${time(began)}: ${route} at ${endpoint} (${reasons[reason]}${where}): ${output}, ${endOf(attempt)}${counted}.${pick === null ? '' : ` ${pickText(pick)}`}`;
}

const picks: Readonly<Record<NonNullable<Attempt['pick']>['why'], string>> = {
  only: 'as the only one',
  holder: 'since it has most of the prompt in its cache',
  sooner: 'since it answers sooner than one that has more of the prompt in its cache',
  untried: 'since it had no request yet, and none has the prompt in its cache',
  'least-work': 'since it has least to do, and none has the prompt in its cache',
  explored: 'since it had no request for long, to find out whether it is faster now',
};

function pickText({ why, held_tokens: held, expected_first_token_ms: first }: NonNullable<Attempt['pick']>): string {
  return `The endpoint was picked ${picks[why]} (${held} tokens of the prompt cached, first token expected after ${time(first)}).`;
}

function endOf({ end, ended_ms: at, fault }: Attempt): string {
  const when = at === null ? '' : ` at ${time(at)}`;
  switch (end) {
    case null:
      return 'still running';
    case 'complete':
      return `complete${when}`;
    case 'beaten':
      return `given up${when}, since a later attempt was faster`;
    case 'aborted':
      return `given up${when}, since it was not needed any more`;
    case 'failed':
      return `failed${when}: ${fault === null ? 'why is not known' : faultText(fault)}`;
  }
}

function refusedLines({ refused_in_minute: count }: Story): readonly string[] {
  if (count === null || count < 2) return [];
  return [`In that minute, ${count} requests of the same key and model were refused with this code.`];
}

/** Lines about the attempts of which only the number is known. */
function unrememberedLines({ attempts, attempt_count: count, route }: Story): readonly string[] {
  if (attempts === null)
    return [
      `It took ${count} attempt${count === 1 ? '' : 's'}${route === null ? '' : `, and ${route} delivered last`}.`,
    ];
  const more = count - attempts.length;
  return more > 0 ? [`${more} more attempts are not remembered one by one.`] : [];
}

const perMillion = (price: Money): string => formatUsd(price * 1_000_000n);

function priceLines({ bill }: Story, { prices }: TextOptions): readonly string[] {
  if (bill === null || bill.counted_by === null) return [];
  if (prices === undefined)
    return ['Its unit prices are not known: the audit trail does not show which prices gave this amount.'];
  const { prompt, inputCacheRead, completion, webSearch } = prices;
  const searches = webSearch === undefined ? '' : `; ${formatUsd(webSearch)} USD for a web search`;
  return [
    `Prices in USD per million tokens: ${perMillion(prompt)} input, ${perMillion(inputCacheRead)} cached input, ${perMillion(completion)} output${searches}.`,
  ];
}

const counters = { engine: 'the engine', tokenizer: 'the model’s tokenizer', estimate: 'an estimate' } as const;

function billLine({ bill, waits }: Story): string {
  if (bill === null || bill.counted_by === null) return 'Nothing was billed.';
  const { prompt_tokens: prompt, completion_tokens: output, cached_tokens: cached, reasoning_tokens: reasoning } = bill;
  const searches = bill.web_searches === null ? '' : `, ${bill.web_searches} web searches`;
  const record = waits?.record ?? null;
  return [
    `Bill: ${prompt} prompt tokens${cached === null ? '' : ` (${cached} cached)`}, ${output} output tokens`,
    `${reasoning === null ? '' : ` (${reasoning} of reasoning)`}${searches}, counted by ${counters[bill.counted_by]}: `,
    `${bill.cost} USD${record === null ? '' : `, recorded within ${time(record)}`}.`,
  ].join('');
}
