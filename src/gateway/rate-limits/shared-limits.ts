import {
  type AdmitResult,
  budgetsOf,
  type FindFunds,
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
import { createMemoryLimits, createTallies, type LocalSlot, type Tallies, type TallyChange } from './memory.ts';
import type { ValkeyLink } from './valkey-link.ts';
import { admitScript, reserveScript, reportScript } from './valkey-scripts.ts';

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

/** Reservations that grow are reported this often; requests that end are reported at once. */
const reportEveryMs = 100;

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

/** A report that the server has not received yet, for one workspace or budget. `left`: the rest of the funds, or empty. */
interface Report {
  readonly left: string;
}

/**
 * Limits that hold for the sum of all replicas. While the server is down, each replica keeps to its share: the limit divided by the
 * number of replicas that were last seen.
 */
export function createSharedLimits(
  link: ValkeyLink,
  { clock, replicas, timeMs, nextTurn }: SharedLimitsOptions,
): SharedLimits {
  const tallies = createTallies(changed);
  const here = createMemoryLimits(clock, tallies);
  /** Requests under way that the server counts, by workspace. */
  const counted = new Map<string, number>();
  /** Which workspaces and budgets have to be reported to the server. */
  const workspaces = new Map<string, Report>();
  const budgets = new Map<string, Report>();
  /** Budgets of which the server may hold an amount. A key or a tag can get its budget, or lose it, while a request of it is under way. */
  const budgetsAtServer = new Set<string>();
  /** Whether the next reports are the first ones under a new name. */
  let isNewName = false;
  let nextReport: 'none' | 'later' | 'soon' = 'none';

  function changed(ask: LimitsAsk, change: TallyChange, left: FindFunds | undefined): void {
    // While the server is down, nothing is reported. When it is up again, everything is reported.
    if (!link.isUp()) return;
    const found = left?.();
    const known = found instanceof Promise ? undefined : found;
    owe(workspaces, ask.workspaceId, known?.balance);
    const rests = new Map((known === undefined ? [] : budgetsOf(ask, known)).map(({ id, left: rest }) => [id, rest]));
    for (const { id, left: atFirst } of budgetsOf(ask, ask.funds)) {
      if (atFirst !== undefined || budgetsAtServer.has(id)) owe(budgets, id, rests.get(id));
    }
    scheduleReport(change);
  }

  function owe(reports: Map<string, Report>, id: string, left: bigint | undefined): void {
    reports.set(id, { left: left === undefined ? (reports.get(id)?.left ?? '') : String(left) });
  }

  /** Requests that end in the same turn of the event loop are reported together. */
  function scheduleReport(change: TallyChange): void {
    if (change === 'released' && nextReport !== 'soon') {
      nextReport = 'soon';
      nextTurn(reportNow);
    } else if (nextReport === 'none') {
      nextReport = 'later';
      clock.after(reportEveryMs, reportNow);
    }
  }

  /** Resolves when the server has all reports. Rejects if it may lack some. */
  function report(): Promise<unknown> {
    nextReport = 'none';
    if (!link.isUp()) return Promise.resolve();
    const sent: Promise<unknown>[] = [];
    const isAnew = isNewName ? '1' : '';
    isNewName = false;
    const send = (hash: string, more: number, reserved: bigint, left: string): void => {
      const reply = link.run(
        reportScript,
        [link.key(hash)],
        [link.name(), String(more), String(reserved), left, isAnew],
      );
      reply.catch(link.drop);
      sent.push(reply);
    };
    for (const [id, { left }] of workspaces) {
      const { inFlight, reserved } = tallies.ofWorkspace(id);
      send(`ws:${id}`, inFlight - (counted.get(id) ?? 0), reserved, left);
      if (inFlight === 0) counted.delete(id);
      else counted.set(id, inFlight);
    }
    for (const [id, { left }] of budgets) {
      const { reserved } = tallies.ofBudget(id);
      send(id, 0, reserved, left);
      if (reserved === 0n) budgetsAtServer.delete(id);
      else budgetsAtServer.add(id);
    }
    workspaces.clear();
    budgets.clear();
    return Promise.all(sent);
  }

  function reportNow(): void {
    report().catch(link.drop);
  }

  function admitHere(ask: LimitsAsk): AdmitResult {
    const known = replicas();
    const share = (limit: number): number => Math.max(1, Math.floor(limit / known));
    const result = here.admit({
      ...ask,
      rate: ask.rate / known,
      burst: share(ask.burst),
      maxInFlight: share(ask.maxInFlight),
      funds: shareOf(ask.funds, known),
    });
    const rate = { ...result.rate, limit: ask.rate };
    return result.kind === 'refused' ? { ...result, rate } : { ...result, rate, slot: sharedSlot(ask, result.slot) };
  }

  async function admitShared(ask: LimitsAsk): Promise<AdmitResult> {
    const { keyId, workspaceId, rate, burst, maxInFlight, funds } = ask;
    // The server must know which requests have ended before it counts.
    if (workspaces.has(workspaceId)) reportNow();
    const name = link.name();
    const asked = budgetsOf(ask, funds);
    const reply = link.run(
      admitScript,
      [`rate:${keyId}`, `ws:${workspaceId}`, 'replicas', ...asked.map(({ id }) => id)].map(link.key),
      [name, rate, burst, maxInFlight, funds.balance, timeMs?.() ?? '', ...asked.map(({ left }) => left ?? '')].map(
        String,
      ),
    );
    const answer = await link.inTime(reply);
    const { result, fullInMs } = read(answer.kind === 'reply' ? answer.value : undefined);
    const status = rateStatus(fullInMs, ask);
    if (isRefusal(result)) return { kind: 'refused', by: result, rate: status };
    if (result === 'admitted') {
      const local = tallies.open(ask);
      count(ask, name);
      return { kind: 'admitted', rate: status, slot: sharedSlot(ask, local) };
    }
    reply.then((late) => {
      if (read(late).result === 'admitted') count(ask, name);
    }, link.drop);
    const alone = admitHere(ask);
    if (alone.kind === 'admitted') changed(ask, 'released', undefined);
    return alone;
  }

  /**
   * Makes a slot. Its reservations are checked over all replicas only if the funds may be too low for all requests of the
   * workspace.
   */
  function sharedSlot(ask: LimitsAsk, local: LocalSlot): Slot {
    let reserved: Money = 0n;
    let isOpen = true;
    /** Remembers the reserved cost. A refused request has reserved nothing, so its slot is released without waiting. */
    const keep = (cost: Money, short: Shortage | undefined): Shortage | undefined => {
      if (short === undefined) reserved = cost;
      return short;
    };
    const releaseAndReport = async (left: Funds | undefined): Promise<void> => {
      local.release(() => left);
      if (link.isUp()) await link.inTime(report());
    };
    return {
      reserve: (cost, funds) => {
        if (!link.isUp()) return keep(cost, reserveAlone({ local, cost, funds }));
        if (isPlenty(ask, { cost, funds })) return keep(cost, local.reserve(cost, funds));
        return reserveShared(ask, { local, cost, funds }).then((short) => keep(cost, short));
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

  function reserveAlone({ local, cost, funds }: Reservation): Shortage | undefined {
    return local.reserve(cost, shareOf(funds, replicas()));
  }

  async function reserveShared(ask: LimitsAsk, { local, cost, funds }: Reservation): Promise<Shortage | undefined> {
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
    for (const { id, left } of asked) if (left !== undefined) budgetsAtServer.add(id);
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
    return reserveAlone({ local, cost, funds });
  }

  /**
   * Records that the server counts one more request. If it counted under an old name, or too late, the correct number
   * is reported.
   */
  function count(ask: LimitsAsk, name: string): void {
    const { workspaceId: id } = ask;
    if (name === link.name()) counted.set(id, (counted.get(id) ?? 0) + 1);
    if (counted.get(id) !== tallies.ofWorkspace(id).inFlight) changed(ask, 'released', undefined);
  }

  function tellAll(): void {
    isNewName = true;
    counted.clear();
    for (const id of tallies.workspaces()) owe(workspaces, id, undefined);
    for (const id of tallies.budgets()) owe(budgets, id, undefined);
    reportNow();
  }

  const admit: Limits['admit'] = (ask) => (link.isUp() ? admitShared(ask) : admitHere(ask));
  return { admit, reserved: tallies.reserved, tellAll };
}

function read(reply: unknown): { readonly result: unknown; readonly fullInMs: number } {
  const [result, text]: readonly unknown[] = Array.isArray(reply) ? reply : [];
  const fullInMs = Number(text ?? 0);
  return { result, fullInMs: Number.isFinite(fullInMs) ? Math.max(0, fullInMs) : 0 };
}
