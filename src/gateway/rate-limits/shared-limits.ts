import {
  type AdmitResult,
  budgetsOf,
  type ExpectedTokens,
  type Funds,
  type LimitName,
  limitNames,
  type Limits,
  type LimitsAsk,
  type Short,
  shortages,
  type Slot,
  type TokenLimit,
  tokenLimitNames,
} from '../../core/limits.ts';
import type { Clock } from '../../core/clock.ts';
import type { Money } from '../../core/money.ts';
import { rateStatus, type RateStatus } from '../../core/token-bucket.ts';
import { createMemoryLimits, createTallies, type LocalSlot, type MemoryLimits, type Tallies } from './memory.ts';
import { tightest } from './rate-buckets.ts';
import {
  changed,
  countAtServer,
  createServerReports,
  oweTokens,
  report,
  reportNow,
  type ServerReports,
  tellAll,
} from './server-reports.ts';
import type { ValkeyLink } from './valkey-link.ts';
import { admitScript, reserveScript } from './limit-scripts.ts';

/** The limits of some workspaces; one server has all their keys. */
export interface SharedLimits extends Limits {
  /** The amounts reserved for this replica's own requests, by workspace. */
  readonly reserved: Tallies['reserved'];
  /** Reports everything to a server that knows nothing of this process. */
  readonly tellAll: () => void;
}

interface SharedLimitsOptions {
  readonly clock: Clock;
  /** The number of replicas that share the limits while the server is down. */
  readonly replicas: () => number;
  /** For tests: the time, in place of the server's. */
  readonly timeMs: (() => number) | undefined;
  /** Runs a function at the end of this turn of the event loop. */
  readonly nextTurn: (run: () => void) => void;
}

const refusals: ReadonlySet<unknown> = new Set<LimitName>(limitNames);
const isRefusal = (result: unknown): result is LimitName => refusals.has(result);

const shortResults: ReadonlySet<unknown> = new Set<Short>([...shortages, ...tokenLimitNames]);
const isShort = (result: unknown): result is Short => shortResults.has(result);

/** Whether some of the funds would be left if the workspace had as many requests like this one under way as its limit allows. */
function isPlenty(ask: LimitsAsk, { cost, funds }: Pick<Reservation, 'cost' | 'funds'>): boolean {
  const most = cost * BigInt(ask.maxInFlight);
  return most < funds.balance && budgetsOf(ask, funds).every(({ left }) => left === undefined || most < left);
}

/** A replica's share of the funds, for replicas that do not know one another's reservations. A share of more than 0 is never 0. */
function shareOf({ balance, budget, tags }: Funds, replicas: number): Funds {
  const divided = (funds: Money): Money => (funds <= 0n ? funds : (funds - 1n) / BigInt(replicas) + 1n);
  return {
    balance: divided(balance),
    budget: budget === undefined ? undefined : divided(budget),
    tags: tags?.map(({ tag, left }) => ({ tag, left: divided(left) })),
  };
}

/** A replica's share of limits in tokens. */
const tokensOf = ({ tokens }: LimitsAsk, share: (limit: number) => number): LimitsAsk['tokens'] =>
  tokens?.map((limit) => ({ ...limit, perMinute: share(limit.perMinute) }));

/** A request that is about to be dispatched. `expected`: its tokens, if it has limits in tokens. */
interface Reservation {
  readonly local: LocalSlot;
  readonly cost: Money;
  readonly funds: Funds;
  readonly expected: ExpectedTokens | undefined;
}

/** What the server has said of a request, and the tokens that it has taken for it. */
interface AtServer {
  taken: number | undefined;
  /** The limits in tokens that count the request. */
  counting: readonly TokenLimit[];
  status: RateStatus | undefined;
  would: readonly LimitName[];
}

/** The tallies of this process, the server that counts for all, and what it was told. */
interface Sharing {
  readonly link: ValkeyLink;
  readonly tallies: Tallies;
  readonly here: MemoryLimits;
  readonly reports: ServerReports;
  readonly replicas: () => number;
  readonly timeMs: (() => number) | undefined;
}

/**
 * Limits that hold for the sum of all replicas. While the server is down, each replica keeps to its share: the limit divided by the
 * number of replicas that were last seen.
 */
export function createSharedLimits(
  link: ValkeyLink,
  { clock, replicas, timeMs, nextTurn }: SharedLimitsOptions,
): SharedLimits {
  const tallies = createTallies((ask, change, left) => changed(reports, ask, { change, left }));
  const reports = createServerReports({ link, tallies, clock, nextTurn });
  const sharing: Sharing = { link, tallies, here: createMemoryLimits(clock, tallies), reports, replicas, timeMs };
  return {
    admit: (ask) => (link.isUp() ? admitShared(sharing, ask) : admitHere(sharing, ask)),
    reserved: tallies.reserved,
    tellAll: () => tellAll(reports),
  };
}

const shareFor =
  ({ replicas }: Sharing): ((limit: number) => number) =>
  (limit) =>
    Math.max(1, Math.floor(limit / replicas()));

function admitHere(sharing: Sharing, ask: LimitsAsk): AdmitResult {
  const known = sharing.replicas();
  const share = shareFor(sharing);
  const result = sharing.here.admit({
    ...ask,
    rate: ask.rate / known,
    burst: share(ask.burst),
    maxInFlight: share(ask.maxInFlight),
    funds: shareOf(ask.funds, known),
    tokens: tokensOf(ask, share),
  });
  const rate = { ...result.rate, limit: ask.rate };
  return result.kind === 'refused'
    ? { ...result, rate }
    : { ...result, rate, slot: sharedSlot(sharing, ask, { local: result.slot }) };
}

/** Limits that are not enforced, as the scripts take them. */
const notEnforced = (ask: LimitsAsk): string => `,${ask.notEnforced?.join(',') ?? ''},`;

async function admitShared(sharing: Sharing, ask: LimitsAsk): Promise<AdmitResult> {
  const { link, reports } = sharing;
  const { keyId, workspaceId, rate, burst, maxInFlight, funds, isFree, tokens = [] } = ask;
  // The server must know which requests have ended before it counts.
  if (reports.workspaces.has(workspaceId)) reportNow(reports);
  const name = link.name();
  const asked = budgetsOf(ask, funds);
  const reply = link.run(
    admitScript,
    [`rate:${keyId}`, `ws:${workspaceId}`, 'replicas', ...asked.map(({ id }) => id), ...bucketsOf(ask)].map(link.key),
    [
      name,
      rate,
      burst,
      maxInFlight,
      isFree ? '' : funds.balance,
      sharing.timeMs?.() ?? '',
      tokens.length,
      notEnforced(ask),
      ...asked.map(({ left }) => (isFree ? '' : (left ?? ''))),
      ...tokens.map(({ perMinute }) => perMinute),
    ].map(String),
  );
  const answer = await link.inTime(reply);
  const { result, would, numbers } = read(answer.kind === 'reply' ? answer.value : undefined);
  const status = rateStatus(numbers(0), ask);
  const ofTokens = tightest(tokens, (_, at) => numbers(at + 1));
  if (isRefusal(result)) return { kind: 'refused', by: result, rate: status, tokens: ofTokens };
  if (result === 'admitted') {
    const local = sharing.here.open({ ...ask, tokens: tokensOf(ask, shareFor(sharing)) });
    countAtServer(reports, ask, name);
    return { kind: 'admitted', rate: status, slot: sharedSlot(sharing, ask, { local, status: ofTokens, would }) };
  }
  reply.then((late) => {
    if (read(late).result === 'admitted') countAtServer(reports, ask, name);
  }, link.drop);
  const alone = admitHere(sharing, ask);
  if (alone.kind === 'admitted') changed(reports, ask, { change: 'released' });
  return alone;
}

/**
 * Makes a slot. Its reservations are checked over all replicas only if the request has limits in tokens, or the funds may be too low
 * for all requests of the workspace.
 */
function sharedSlot(
  sharing: Sharing,
  ask: LimitsAsk,
  { local, status, would = [] }: { readonly local: LocalSlot } & Partial<Pick<AtServer, 'status' | 'would'>>,
): Slot {
  const { link, reports } = sharing;
  const atServer: AtServer = { taken: undefined, counting: [], status, would };
  let reserved: Money = 0n;
  let isOpen = true;
  /** Remembers the reserved cost. A refused request has reserved nothing, so its slot is released without waiting. */
  const keep = (cost: Money, short: Short): Short => {
    if (short === undefined) reserved = cost;
    return short;
  };
  /** Whether the limits in tokens, as the server last had them, would let no further request like this one pass. */
  const isShortOfTokens = (): boolean =>
    atServer.taken !== undefined && atServer.taken > (atServer.status?.remaining ?? 0);
  const takeTokens = (expected: ExpectedTokens | undefined, change: 'adjusted' | 'released'): void => {
    if (atServer.taken === undefined || expected === undefined) return;
    oweTokens(reports, atServer.counting, { tokens: expected.tokens - atServer.taken, change });
    atServer.taken = expected.tokens;
  };
  const releaseAndReport = async (left: Funds | undefined, used: ExpectedTokens | undefined): Promise<void> => {
    local.release(() => left, used);
    if (link.isUp()) await link.inTime(report(reports));
  };
  return {
    tokens: ask.tokens && (() => atServer.status ?? local.tokens?.()),
    wouldRefuse: ask.notEnforced && (() => [...atServer.would, ...local.wouldRefuse()]),
    reserve: (cost, funds, asked) => {
      const expected = ask.tokens && asked;
      const reservation = { local, cost, funds, expected };
      if (!link.isUp()) return keep(cost, reserveAlone(sharing, reservation));
      if (expected === undefined && isPlenty(ask, { cost, funds })) return keep(cost, local.reserve(cost, funds));
      return reserveShared(sharing, ask, { ...reservation, atServer }).then((short) => keep(cost, short));
    },
    adjust: (cost, expected) => {
      reserved = cost;
      // It holds its tokens here or at the server.
      local.adjust(cost, expected);
      takeTokens(expected, 'adjusted');
    },
    release: (find, used) => {
      if (!isOpen) return undefined;
      isOpen = false;
      const left = find?.();
      const isShort = isShortOfTokens();
      takeTokens(used ?? { tokens: 0 }, 'released');
      // With plenty of funds left, the release waits for no report, because other replicas read the accounts again within a
      // second.
      if (!link.isUp() || (!isShort && isPlenty(ask, { cost: reserved, funds: ask.funds }))) {
        return local.release(() => (left instanceof Promise ? undefined : left), used);
      }
      // The caller's next request may reach another replica, which must not refuse it for this request's reservation.
      return left instanceof Promise
        ? left.then((found) => releaseAndReport(found, used))
        : releaseAndReport(left, used);
    },
  };
}

const bucketsOf = ({ tokens = [] }: LimitsAsk): readonly string[] => tokens.map(({ id }) => `tok:${id}`);

function reserveAlone(sharing: Sharing, { local, cost, funds, expected }: Reservation): Short {
  return local.reserve(cost, shareOf(funds, sharing.replicas()), expected);
}

async function reserveShared(
  sharing: Sharing,
  ask: LimitsAsk,
  { local, cost, funds, expected, atServer }: Reservation & { readonly atServer: AtServer },
): Promise<Short> {
  const { link, tallies, reports } = sharing;
  const { workspaceId, tokens = [] } = ask;
  const asked = budgetsOf(ask, funds);
  // What is left, and the amounts reserved without and with this request: of the workspace, and of each budget.
  const reserved = [
    { left: funds.balance, tally: tallies.ofWorkspace(workspaceId) },
    ...asked.map(({ id, left }) => ({ left: left ?? '', tally: tallies.ofBudget(id) })),
  ].flatMap(({ left, tally }) => [left, tally.reserved, tally.reserved + cost]);
  // The cost is reserved here before the server is asked, so that every later report includes this cost.
  const short = local.reserve(cost, funds);
  if (short !== undefined) return short;
  for (const { id, left } of asked) if (left !== undefined) reports.budgetsAtServer.add(id);
  const reply = link.run(
    reserveScript,
    ['replicas', `ws:${workspaceId}`, ...asked.map(({ id }) => id), ...bucketsOf(ask)].map(link.key),
    [
      ...[link.name(), tokens.length, expected?.tokens ?? 0, notEnforced(ask), ...reserved],
      ...tokens.map(({ perMinute }) => perMinute),
    ].map(String),
  );
  const answer = await link.inTime(reply);
  const { result, would, numbers } = read(answer.kind === 'reply' ? answer.value : undefined);
  if (result === 'reserved' || isShort(result)) atServer.status = tightest(tokens, (_, at) => numbers(2 * at + 1));
  if (result === 'reserved') {
    atServer.taken = expected?.tokens;
    atServer.counting = tokens.filter((_, at) => numbers(2 * at) === 1);
    atServer.would = [...atServer.would, ...would];
    return undefined;
  }
  local.adjust(0n);
  if (isShort(result)) return result;
  reply.then((late) => {
    // The tokens are reserved here meanwhile.
    const there = read(late);
    const counting = tokens.filter((_, at) => there.numbers(2 * at) === 1);
    if (there.result === 'reserved') oweTokens(reports, counting, { tokens: -(expected?.tokens ?? 0) });
  }, link.drop);
  return reserveAlone(sharing, { local, cost, funds, expected });
}

/** Reads the result of a script, the limits that would refuse, and the numbers that follow. */
function read(reply: unknown) {
  const [result, limits, ...texts]: readonly unknown[] = Array.isArray(reply) ? reply : [];
  return {
    result,
    would: typeof limits === 'string' ? limits.split(',').filter(isRefusal) : [],
    numbers: (at: number): number => {
      const number = Number(texts[at] ?? 0);
      return Number.isFinite(number) ? Math.max(0, number) : 0;
    },
  };
}
