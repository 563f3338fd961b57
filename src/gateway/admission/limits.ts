import type { Credential } from '../../core/account.ts';
import { countedTagsOf, tagsIn, tagText } from '../../core/tags.ts';
import type { Headers } from '../../core/headers.ts';
import { Failure } from '../../core/failure.ts';
import {
  type ExpectedTokens,
  type FindFunds,
  type Funds,
  type LimitName,
  type Limits,
  type LimitsAsk,
  type Shortage,
  type TagFunds,
  type TokenLimit,
} from '../../core/limits.ts';
import { formatUsd, type Money } from '../../core/money.ts';
import type { ReachedLimit } from '../../core/refusing-limit.ts';
import type { RateStatus } from '../../core/token-bucket.ts';
import type { Authenticated } from './authenticate.ts';

/** A request that was admitted. It holds a slot until it is released. */
export type Admitted = Awaited<ReturnType<typeof admit>>;

/** What a request is expected to use by its end. */
export interface Expected extends ExpectedTokens {
  readonly cost: Money;
}

function rateHeaders(rate: RateStatus, tokens: RateStatus | undefined): Headers {
  return [...headersOf('requests', rate), ...(tokens === undefined ? [] : headersOf('tokens', tokens))];
}

function headersOf(of: 'requests' | 'tokens', { limit, remaining, resetSeconds }: RateStatus): Headers {
  return [
    [`x-ratelimit-limit-${of}`, String(limit)],
    [`x-ratelimit-remaining-${of}`, String(remaining)],
    [`x-ratelimit-reset-${of}`, String(resetSeconds)],
  ];
}

/** The least that a client may be asked to wait, since nobody can predict the end of an in-flight request. */
const slotRetrySeconds = 1;

const markOf = (would: readonly LimitName[]): Headers =>
  would.length === 0 ? [] : [['x-weir-would-refuse', would.join(', ')]];

/** `tag:WORKSPACE:team=search` */
const tagsOf = (limits: readonly TokenLimit[]): string =>
  limits.map(({ id }) => id.split(':').slice(2).join(':')).join(' or ');

/** What a refused request was held against. */
interface Refused extends Pick<LimitsAsk, 'funds'> {
  /** The credential of `funds`. */
  readonly credential: Credential;
  readonly limits: LimitsAsk['tokens'];
  readonly rate: RateStatus;
  readonly tokens: RateStatus | undefined;
}

function refusal(by: LimitName, { limits = [], rate, tokens, funds, credential }: Refused): Failure {
  const limited = (message: string, retryAfterSeconds: number, reached?: readonly ReachedLimit[]): Failure =>
    new Failure('rate_limited', `Rate limit exceeded: ${message}. Wait and retry.`, {
      retryAfterSeconds,
      limit: by,
      ...(reached !== undefined && { reached }),
      headers: rateHeaders(rate, tokens),
    });
  switch (by) {
    case 'rate':
      return limited(`this key may make ${rate.limit} requests a second`, rate.nextSeconds);
    case 'concurrency':
      return limited('this workspace has too many in-flight requests', slotRetrySeconds);
    case 'tokens':
    case 'workspace-tokens':
    case 'tag-tokens': {
      const short = limits.filter((limit) => limit.by === by);
      const names = {
        tokens: 'this key',
        'workspace-tokens': 'this workspace',
        'tag-tokens': `the tag ${tagsOf(short)}`,
      };
      const most = short.map(({ perMinute }) => perMinute).join(' or ');
      const message = `${names[by]} may use ${most} tokens a minute, prompts and answers together`;
      const reached = short.map((limit) => ({
        tag: by === 'tag-tokens' ? tagsOf([limit]) : undefined,
        limit: String(limit.perMinute),
      }));
      return limited(message, tokens?.nextSeconds ?? slotRetrySeconds, reached);
    }
    case 'balance':
    case 'budget':
    case 'tag-budget':
      return refusalOfMoney(by, funds, credential);
  }
}

/** The refusal says whether the money is spent, or only reserved by other requests, so that waiting can help. */
function refusalOfMoney(by: Shortage, funds: Funds, credential: Credential): Failure {
  if (by === 'balance') return new Failure('insufficient_funds', balanceMessage(funds), { limit: by });
  const reached = by === 'budget' ? budgetOfKey(credential) : budgetsOfTags(funds, credential);
  return new Failure('insufficient_funds', budgetMessage(by, funds), { limit: by, reached });
}

const budgetOfKey = ({ key: { budget }, spent }: Credential): readonly ReachedLimit[] =>
  budget === undefined ? [] : [{ limit: formatUsd(budget.limit), spent: formatUsd(spent) }];

const budgetsOfTags = (funds: Funds, { tagBudgets }: Credential): readonly ReachedLimit[] =>
  shortTags(funds).flatMap(({ tag }) => {
    const budget = tagBudgets?.get(tag);
    return budget === undefined ? [] : [{ tag, limit: formatUsd(budget.limit), spent: formatUsd(budget.spent) }];
  });

/** The tags whose budget is used up; if in-flight requests are expected to use one up, all with a budget. */
function shortTags({ tags = [] }: Funds): readonly TagFunds[] {
  const usedUp = tags.filter(({ left }) => left <= 0n);
  return usedUp.length > 0 ? usedUp : tags;
}

function balanceMessage({ balance }: Funds): string {
  return balance > 0n
    ? 'The in-flight requests are expected to use up the balance of this workspace. Top it up, or wait until some have ended.'
    : 'Credit balance is too low: the balance of this workspace is used up. Top it up to continue.';
}

function budgetMessage(by: Exclude<Shortage, 'balance'>, funds: Funds): string {
  const { budget = 0n } = funds;
  const those = shortTags(funds);
  const usedUp = by === 'budget' ? budget <= 0n : those.some(({ left }) => left <= 0n);
  const name = by === 'budget' ? 'this key' : `the tag ${those.map(({ tag }) => tag).join(' or ')}`;
  return usedUp
    ? `Quota exceeded: the budget of ${name} is used up for its current period.`
    : `The in-flight requests are expected to use up the budget of ${name}. Raise it, or wait until some have ended.`;
}

interface AdmitOptions extends Pick<LimitsAsk, 'isFree'> {
  /** The result of `readTags`. */
  readonly sent?: string | undefined;
}

function askOf(
  credential: Credential,
  { sent, tags, isFree }: AdmitOptions & { readonly tags: string | undefined },
): LimitsAsk {
  const { key, workspace } = credential;
  return {
    keyId: key.id,
    workspaceId: workspace.id,
    rate: key.rate,
    burst: key.burst,
    maxInFlight: workspace.maxInFlight,
    funds: fundsOf(credential, tags),
    tokens: isFree ? undefined : tokenLimitsOf(credential, [...tagsIn(sent), ...tagsIn(tags)].map(tagText)),
    notEnforced: notEnforcedOf(credential),
    isFree,
  };
}

/** The limits of a credential that only count. Undefined: there are none. */
function notEnforcedOf({ key, workspace }: Credential): LimitsAsk['notEnforced'] {
  const names = [...(key.notEnforced ?? []), ...(workspace.notEnforced ?? [])];
  return names.length === 0 ? undefined : names;
}

/** The limits in tokens a minute of a credential, for a request with these tags, as sent and as counted. Undefined: there are none. */
function tokenLimitsOf({ key, workspace }: Credential, tags: readonly string[]): LimitsAsk['tokens'] {
  const { tokensPerMinute: ofWorkspace, tagTokensPerMinute: ofTags } = workspace;
  const limits: TokenLimit[] = [];
  const add = (perMinute: number | undefined, limit: Omit<TokenLimit, 'perMinute'>): void => {
    if (perMinute !== undefined) limits.push({ ...limit, perMinute });
  };
  add(key.tokensPerMinute, { id: `key:${key.id}`, by: 'tokens' });
  add(ofWorkspace, { id: `ws:${workspace.id}`, by: 'workspace-tokens' });
  if (ofTags !== undefined) {
    for (const tag of new Set(tags)) add(ofTags[tag], { id: `tag:${workspace.id}:${tag}`, by: 'tag-tokens' });
  }
  return limits.length === 0 ? undefined : limits;
}

/**
 * Admits a request, by its headers alone, if rate, concurrency, balance and budgets allow it. Returns the request with a slot;
 * throws `rate_limited` or `insufficient_funds` and takes no slot.
 */
export async function admit(
  { credential, latest }: Pick<Authenticated, 'credential' | 'latest'>,
  limits: Limits,
  { sent, isFree }: AdmitOptions = {},
) {
  const tags = countedTagsOf(sent, credential.countedTags);
  const ask = askOf(credential, { sent, tags, isFree });
  const asked = limits.admit(ask);
  // An answer from memory need not wait for the next turn of the event loop.
  const result = asked instanceof Promise ? await asked : asked;
  const held = { limits: ask.tokens, rate: result.rate, credential };
  if (result.kind === 'refused') throw refusal(result.by, { ...held, tokens: result.tokens, funds: ask.funds });
  const { rate, slot } = result;
  const fundsNow = (known: Credential | undefined): Funds | undefined => known && fundsOf(known, tags);
  /** Finds what may be spent now, without what is reserved. Undefined: it is not known. */
  const left: FindFunds = () => {
    const known = latest();
    return known instanceof Promise ? known.then(fundsNow, () => undefined) : fundsNow(known);
  };
  /** Limits that would have refused it so far, if they were enforced. */
  const wouldRefuse = (): readonly LimitName[] => [...new Set(slot.wouldRefuse?.())];
  return {
    /** Headers of a successful answer (docs/reference/api.md §8), by what is reserved now. */
    headers: (): Headers => [...rateHeaders(rate, slot.tokens?.()), ...markOf(wouldRefuse())],
    wouldRefuse,
    /** The tags that the request counts as. They replace the tags that were sent. */
    tags,
    left,
    /**
     * Reserves the expected cost and tokens. Throws `insufficient_funds` or `rate_limited` if concurrent requests have used up the funds
     * or the tokens of this minute meanwhile.
     */
    reserve: async ({ cost, tokens }: Expected): Promise<void> => {
      const known = latest();
      const newest = (known instanceof Promise ? await known.catch(() => undefined) : known) ?? credential;
      const funds = fundsOf(newest, tags);
      const short = await slot.reserve(cost, funds, { tokens });
      if (short !== undefined) throw refusal(short, { ...held, credential: newest, tokens: slot.tokens?.(), funds });
    },
    /** Changes the reservation to a new expected cost, and to new expected tokens. */
    adjust: ({ cost, tokens }: Expected): void => slot.adjust(cost, { tokens }),
    /**
     * Call on every exit, once the request is settled, with the tokens of its bill; later calls do nothing. Without tokens, none counts.
     * Resolves when the slot is free.
     */
    release: (used?: ExpectedTokens): void | Promise<void> => slot.release(left, used),
  };
}

/**
 * The amounts that a request may still spend: its workspace's balance and credit limit, and the rest of the budgets of its key and
 * of its tags in their current periods.
 */
export function fundsOf(
  { key, workspace: { balance, creditLimit = 0n }, spent, tagBudgets }: Credential,
  tags?: string,
): Funds {
  const funds = { balance: balance + creditLimit, budget: key.budget && key.budget.limit - spent };
  if (tagBudgets === undefined || tags === undefined) return funds;
  const budgeted = tagsIn(tags).flatMap((tag) => tagBudgets.get(tagText(tag)) ?? []);
  return budgeted.length === 0
    ? funds
    : { ...funds, tags: budgeted.map(({ tag, limit, spent: used }) => ({ tag, left: limit - used })) };
}
