import type { FindFunds, Funds, LimitName, Limits, LimitsAsk, Shortage, Slot, AdmitResult } from '../core/limits.ts';
import type { Money } from '../core/money.ts';
import { rateStatus } from '../core/token-bucket.ts';
import { createMemoryLimits } from './memory.ts';
import { createTallies, type LocalSlot, type TallyChange } from './tallies.ts';
import { createValkeyLink, replicasKey, type ValkeyLink, type ValkeyLinkOptions } from './valkey-link.ts';
import { admitScript, reserveScript, tellScript } from './valkey-scripts.ts';

export interface ValkeyLimits extends Limits {
  readonly link: ValkeyLink;
}

export interface ValkeyLimitsOptions extends Omit<ValkeyLinkOptions, 'onUp'> {
  readonly onUp: () => void;
  /** For tests: the time, in place of the server's. */
  readonly timeMs?: () => number;
}

/** Reservations that grow are told this often; requests that end are told at once. */
const tellEveryMs = 100;

const refusals: ReadonlySet<unknown> = new Set<LimitName>(['rate', 'concurrency', 'balance', 'budget']);
const isRefusal = (verdict: unknown): verdict is LimitName => refusals.has(verdict);

const isShortage = (verdict: unknown): verdict is Shortage => verdict === 'balance' || verdict === 'budget';

/** Whether requests like this one, as many as there may be, are not expected to spend what is left. */
function isPlenty({ maxInFlight }: LimitsAsk, { cost, funds }: Omit<Reservation, 'local'>): boolean {
  const most = cost * BigInt(maxInFlight);
  return most < funds.balance && (funds.budget === undefined || most < funds.budget);
}

/** A replica's share of the funds, for replicas that do not know of each other's reservations. A share of something is never nothing. */
function shareOf({ balance, budget }: Funds, replicas: number): Funds {
  const divided = (funds: Money): Money => (funds <= 0n ? funds : (funds - 1n) / BigInt(replicas) + 1n);
  return { balance: divided(balance), ...(budget !== undefined && { budget: divided(budget) }) };
}

/** A request that is about to be dispatched. */
interface Reservation {
  readonly local: LocalSlot;
  readonly cost: Money;
  readonly funds: Funds;
}

/** What a word to the server is about. */
interface Word {
  readonly left: string;
}

/**
 * Limits that hold for the sum of all replicas. While the server is away, each replica keeps to its share: the limit divided
 * by the replicas that were last seen.
 */
export function createValkeyLimits(options: ValkeyLimitsOptions): ValkeyLimits {
  const { clock, timeMs } = options;
  const tallies = createTallies(changed);
  const here = createMemoryLimits(clock, tallies);
  /** Requests under way that the server counts, by workspace. */
  const counted = new Map<string, number>();
  /** What the server has to be told of. */
  const workspaces = new Map<string, Word>();
  const keys = new Map<string, Word>();
  let telling: 'not' | 'later' | 'soon' = 'not';
  const link = createValkeyLink({
    ...options,
    onUp: () => {
      tellAll();
      options.onUp();
    },
  });

  function changed(ask: LimitsAsk, change: TallyChange, left: FindFunds | undefined): void {
    // All is told when it comes back.
    if (!link.isUp()) return;
    const found = left?.();
    const { balance, budget } = found === undefined || found instanceof Promise ? {} : found;
    owe(workspaces, ask.workspaceId, balance);
    if (ask.funds.budget !== undefined) owe(keys, ask.keyId, budget);
    tellWithin(change);
  }

  function owe(words: Map<string, Word>, id: string, left: bigint | undefined): void {
    words.set(id, { left: left === undefined ? (words.get(id)?.left ?? '') : String(left) });
  }

  /** Those that end in the same turn of the loop are told together. */
  function tellWithin(change: TallyChange): void {
    if (change === 'released' && telling !== 'soon') {
      telling = 'soon';
      setImmediate(tellNow);
    } else if (telling === 'not') {
      telling = 'later';
      clock.after(tellEveryMs, tellNow);
    }
  }

  /** Resolves when the server has heard all of it. Rejects when it may not have. */
  function tell(): Promise<unknown> {
    telling = 'not';
    if (!link.isUp()) return Promise.resolve();
    const words: Promise<unknown>[] = [];
    const say = (kind: 'ws' | 'key', id: string, more: number, reserved: bigint, left: string): void => {
      const told = link.run(tellScript, [`weir:${kind}:${id}`], [link.name(), String(more), String(reserved), left]);
      told.catch(link.drop);
      words.push(told);
    };
    for (const [id, { left }] of workspaces) {
      const { inFlight, reserved } = tallies.ofWorkspace(id);
      say('ws', id, inFlight - (counted.get(id) ?? 0), reserved, left);
      if (inFlight === 0) counted.delete(id);
      else counted.set(id, inFlight);
    }
    for (const [id, { left }] of keys) say('key', id, 0, tallies.ofKey(id).reserved, left);
    workspaces.clear();
    keys.clear();
    return Promise.all(words);
  }

  function tellNow(): void {
    tell().catch(link.drop);
  }

  function admitHere(ask: LimitsAsk): AdmitResult {
    const replicas = link.replicas();
    const share = (limit: number): number => Math.max(1, Math.floor(limit / replicas));
    const verdict = here.admit({
      ...ask,
      ...{ rate: ask.rate / replicas, burst: share(ask.burst), maxInFlight: share(ask.maxInFlight) },
      funds: shareOf(ask.funds, replicas),
    });
    const rate = { ...verdict.rate, limit: ask.rate };
    return verdict.kind === 'refused'
      ? { ...verdict, rate }
      : { ...verdict, rate, slot: sharedSlot(ask, verdict.slot) };
  }

  async function admitShared(ask: LimitsAsk): Promise<AdmitResult> {
    const { keyId, workspaceId, rate, burst, maxInFlight, funds } = ask;
    // The server has to know of what has ended before it counts.
    if (workspaces.has(workspaceId)) tellNow();
    const name = link.name();
    const reply = link.run(
      admitScript,
      [`weir:rate:${keyId}`, `weir:ws:${workspaceId}`, `weir:key:${keyId}`, replicasKey],
      [
        ...[name, rate, burst, maxInFlight, funds.balance, funds.budget ?? ''].map(String),
        timeMs === undefined ? '' : String(timeMs()),
      ],
    );
    const answer = await link.inTime(reply);
    const { verdict, fullInMs } = read(answer.kind === 'reply' ? answer.value : undefined);
    const status = rateStatus(fullInMs, ask);
    if (isRefusal(verdict)) return { kind: 'refused', by: verdict, rate: status };
    if (verdict === 'admitted') {
      const local = tallies.open(ask);
      count(ask, name);
      return { kind: 'admitted', rate: status, slot: sharedSlot(ask, local) };
    }
    reply.then((late) => {
      if (read(late).verdict === 'admitted') count(ask, name);
    }, link.drop);
    const alone = admitHere(ask);
    if (alone.kind === 'admitted') changed(ask, 'released', undefined);
    return alone;
  }

  /** Others are asked, and waited for, only where what is left may be too little for all. */
  function sharedSlot(ask: LimitsAsk, local: LocalSlot): Slot {
    let reserved: Money = 0n;
    let isOpen = true;
    /** A request that was refused has reserved nothing: its place is given back without waiting. */
    const keep = (cost: Money, short: Shortage | undefined): Shortage | undefined => {
      if (short === undefined) reserved = cost;
      return short;
    };
    const releaseAndTell = async (left: Funds | undefined): Promise<void> => {
      local.release(() => left);
      if (link.isUp()) await link.inTime(tell());
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
        // Whoever reads the accounts again in a second need not know sooner.
        if (!link.isUp() || isPlenty(ask, { cost: reserved, funds: ask.funds })) {
          return local.release(() => (left instanceof Promise ? undefined : left));
        }
        // The caller's next request may meet another replica, where what was reserved for this one must not refuse it.
        return left instanceof Promise ? left.then(releaseAndTell) : releaseAndTell(left);
      },
    };
  }

  function reserveAlone({ local, cost, funds }: Reservation): Shortage | undefined {
    return local.reserve(cost, shareOf(funds, link.replicas()));
  }

  async function reserveShared(ask: LimitsAsk, { local, cost, funds }: Reservation): Promise<Shortage | undefined> {
    const { keyId, workspaceId } = ask;
    const others = [tallies.ofWorkspace(workspaceId).reserved, tallies.ofKey(keyId).reserved];
    // Before the server is asked: whatever it is told afterwards has this cost in it.
    const short = local.reserve(cost, funds);
    if (short !== undefined) return short;
    const reply = link.run(
      reserveScript,
      [`weir:ws:${workspaceId}`, `weir:key:${keyId}`, replicasKey],
      [link.name(), funds.balance, funds.budget ?? '', ...others, cost].map(String),
    );
    const answer = await link.inTime(reply);
    const verdict = answer.kind === 'reply' ? answer.value : undefined;
    if (verdict === 'taken') return undefined;
    local.adjust(0n);
    if (isShortage(verdict)) return verdict;
    reply.catch(link.drop);
    return reserveAlone({ local, cost, funds });
  }

  /** The server counts one more. If that was under a name of the past, or came too late, it is told how many there are. */
  function count(ask: LimitsAsk, name: string): void {
    const { workspaceId: id } = ask;
    if (name === link.name()) counted.set(id, (counted.get(id) ?? 0) + 1);
    if (counted.get(id) !== tallies.ofWorkspace(id).inFlight) changed(ask, 'released', undefined);
  }

  /** The server knows nothing of this process. */
  function tellAll(): void {
    counted.clear();
    for (const id of tallies.workspaces()) owe(workspaces, id, undefined);
    for (const id of tallies.keys()) owe(keys, id, undefined);
    tellNow();
  }

  return { admit: (ask) => (link.isUp() ? admitShared(ask) : admitHere(ask)), link };
}

function read(reply: unknown): { readonly verdict: unknown; readonly fullInMs: number } {
  const [verdict, fullInMs]: readonly unknown[] = Array.isArray(reply) ? reply : [];
  return { verdict, fullInMs: Number(fullInMs ?? 0) };
}
