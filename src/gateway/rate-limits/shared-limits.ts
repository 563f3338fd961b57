import {
  type AdmitResult,
  budgetsOf,
  type Funds,
  type LimitName,
  limitNames,
  type Limits,
  type LimitsAsk,
  type Shortage,
  shortages,
  type Slot,
} from '../../core/limits.ts';
import type { Clock } from '../../core/clock.ts';
import type { Money } from '../../core/money.ts';
import { rateStatus } from '../../core/token-bucket.ts';
import { createMemoryLimits, createTallies, type LocalSlot, type MemoryLimits, type Tallies } from './memory.ts';
import {
  changed,
  countAtServer,
  createServerReports,
  report,
  reportNow,
  type ServerReports,
  tellAll,
} from './server-reports.ts';
import type { ValkeyLink } from './valkey-link.ts';
import { admitScript, reserveScript } from './valkey-scripts.ts';

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

const shortResults: ReadonlySet<unknown> = new Set<Shortage>(shortages);
const isShortage = (result: unknown): result is Shortage => shortResults.has(result);

/** Whether some of the funds would be left if the workspace had as many requests like this one under way as its limit allows. */
function isPlenty(ask: LimitsAsk, { cost, funds }: Omit<Reservation, 'local'>): boolean {
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

/** A request that is about to be dispatched. */
interface Reservation {
  readonly local: LocalSlot;
  readonly cost: Money;
  readonly funds: Funds;
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

function admitHere(sharing: Sharing, ask: LimitsAsk): AdmitResult {
  const known = sharing.replicas();
  const share = (limit: number): number => Math.max(1, Math.floor(limit / known));
  const result = sharing.here.admit({
    ...ask,
    rate: ask.rate / known,
    burst: share(ask.burst),
    maxInFlight: share(ask.maxInFlight),
    funds: shareOf(ask.funds, known),
  });
  const rate = { ...result.rate, limit: ask.rate };
  return result.kind === 'refused'
    ? { ...result, rate }
    : { ...result, rate, slot: sharedSlot(sharing, ask, result.slot) };
}

async function admitShared(sharing: Sharing, ask: LimitsAsk): Promise<AdmitResult> {
  const { link, reports } = sharing;
  const { keyId, workspaceId, rate, burst, maxInFlight, funds, isFree } = ask;
  // The server must know which requests have ended before it counts.
  if (reports.workspaces.has(workspaceId)) reportNow(reports);
  const name = link.name();
  const asked = budgetsOf(ask, funds);
  const reply = link.run(
    admitScript,
    [`rate:${keyId}`, `ws:${workspaceId}`, 'replicas', ...asked.map(({ id }) => id)].map(link.key),
    [
      name,
      rate,
      burst,
      maxInFlight,
      isFree ? '' : funds.balance,
      sharing.timeMs?.() ?? '',
      ...asked.map(({ left }) => (isFree ? '' : (left ?? ''))),
    ].map(String),
  );
  const answer = await link.inTime(reply);
  const { result, fullInMs } = read(answer.kind === 'reply' ? answer.value : undefined);
  const status = rateStatus(fullInMs, ask);
  if (isRefusal(result)) return { kind: 'refused', by: result, rate: status };
  if (result === 'admitted') {
    const local = sharing.tallies.open(ask);
    countAtServer(reports, ask, name);
    return { kind: 'admitted', rate: status, slot: sharedSlot(sharing, ask, local) };
  }
  reply.then((late) => {
    if (read(late).result === 'admitted') countAtServer(reports, ask, name);
  }, link.drop);
  const alone = admitHere(sharing, ask);
  if (alone.kind === 'admitted') changed(reports, ask, { change: 'released' });
  return alone;
}

/**
 * Makes a slot. Its reservations are checked over all replicas only if the funds may be too low for all requests of the
 * workspace.
 */
function sharedSlot(sharing: Sharing, ask: LimitsAsk, local: LocalSlot): Slot {
  const { link, reports } = sharing;
  let reserved: Money = 0n;
  let isOpen = true;
  /** Remembers the reserved cost. A refused request has reserved nothing, so its slot is released without waiting. */
  const keep = (cost: Money, short: Shortage | undefined): Shortage | undefined => {
    if (short === undefined) reserved = cost;
    return short;
  };
  const releaseAndReport = async (left: Funds | undefined): Promise<void> => {
    local.release(() => left);
    if (link.isUp()) await link.inTime(report(reports));
  };
  return {
    reserve: (cost, funds) => {
      if (!link.isUp()) return keep(cost, reserveAlone(sharing, { local, cost, funds }));
      if (isPlenty(ask, { cost, funds })) return keep(cost, local.reserve(cost, funds));
      return reserveShared(sharing, ask, { local, cost, funds }).then((short) => keep(cost, short));
    },
    adjust: (cost) => {
      reserved = cost;
      local.adjust(cost);
    },
    release: (find) => {
      if (!isOpen) return undefined;
      isOpen = false;
      const left = find?.();
      // With plenty of funds left, the release waits for no report, because other replicas read the accounts again within a
      // second.
      if (!link.isUp() || isPlenty(ask, { cost: reserved, funds: ask.funds })) {
        return local.release(() => (left instanceof Promise ? undefined : left));
      }
      // The caller's next request may reach another replica, which must not refuse it for this request's reservation.
      return left instanceof Promise ? left.then(releaseAndReport) : releaseAndReport(left);
    },
  };
}

function reserveAlone(sharing: Sharing, { local, cost, funds }: Reservation): Shortage | undefined {
  return local.reserve(cost, shareOf(funds, sharing.replicas()));
}

async function reserveShared(
  sharing: Sharing,
  ask: LimitsAsk,
  { local, cost, funds }: Reservation,
): Promise<Shortage | undefined> {
  const { link, tallies, reports } = sharing;
  const { workspaceId } = ask;
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
    ['replicas', `ws:${workspaceId}`, ...asked.map(({ id }) => id)].map(link.key),
    [link.name(), ...reserved].map(String),
  );
  const answer = await link.inTime(reply);
  const result = answer.kind === 'reply' ? answer.value : undefined;
  if (result === 'reserved') return undefined;
  local.adjust(0n);
  if (isShortage(result)) return result;
  reply.catch(link.drop);
  return reserveAlone(sharing, { local, cost, funds });
}

function read(reply: unknown): { readonly result: unknown; readonly fullInMs: number } {
  const [result, text]: readonly unknown[] = Array.isArray(reply) ? reply : [];
  const fullInMs = Number(text ?? 0);
  return { result, fullInMs: Number.isFinite(fullInMs) ? Math.max(0, fullInMs) : 0 };
}
