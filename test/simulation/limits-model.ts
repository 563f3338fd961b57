import {
  type AdmitResult,
  budgetsOf,
  type Funds,
  type LimitName,
  type Limits,
  type LimitsAsk,
  type Short,
  type Shortage,
  type Slot,
  type TokenLimit,
  type TokenLimitName,
  tokenLimitNames,
} from '../../src/core/limits.ts';
import { keyPlans, workspaces } from './accounts.ts';
import type { RateLimit } from './check-refusal.ts';
import { healedMs } from './check-stopped.ts';
import { createTokenModel, type HeldTokens, type Moment, never } from './token-model.ts';
import type { World, WorldFault } from './world-view.ts';

/** What a key and its workspace may do, by the plan of the world. */
export interface PlannedLimits extends RateLimit {
  readonly key: number;
  readonly maxInFlight: number;
  /** Absent: the key has no such limit. */
  readonly tokensPerMinute?: number | undefined;
  /** Of its workspace, and of tags of requests. */
  readonly workspaceTokens?: number | undefined;
  readonly tagTokens?: Readonly<Record<string, number>> | undefined;
}

/** The planned tokens a minute of a limit. Undefined: the plan has no such limit. */
function plannedTokens(planned: PlannedLimits, { id, by }: Pick<TokenLimit, 'id' | 'by'>): number | undefined {
  switch (by) {
    case 'tokens':
      return planned.tokensPerMinute;
    case 'workspace-tokens':
      return planned.workspaceTokens;
    case 'tag-tokens':
      return planned.tagTokens?.[id.split(':').slice(2).join(':')];
  }
}

const isTokenLimit = (name: LimitName | 'admitted' | undefined): boolean => tokenLimitNames.some((one) => one === name);

/** A request at the limits. */
interface Admission {
  readonly ask: LimitsAsk;
  readonly planned: PlannedLimits;
  readonly called: Moment;
  answered: Moment;
  /** Undefined: there is no answer yet. */
  result: 'admitted' | LimitName | undefined;
  /** When it began to give its place back, and by when the place was free. */
  releasing: Moment;
  free: Moment;
  held: bigint;
  /** What it holds of each of its limits in tokens. */
  readonly tokens: readonly HeldOfLimit[];
}

interface HeldOfLimit {
  readonly limit: TokenLimit;
  readonly held: HeldTokens;
}

/** A bucket is full after this time, whatever was taken from it. */
const rememberedMs = 10_000;
/** Sums of floats differ by so many tokens at most. A bucket lacks less than this when it counts as full enough (`src/core/token-bucket.ts`). */
const tolerance = { refused: 1e-5, admitted: 2e-3 };
/** How long a replica may count what another one has given back. */
const sharedMs = 250;

export interface LimitsModel {
  /** Limits whose answers are compared with the model. `onDeath`: their program ends, and holds nothing any more. */
  readonly watch: (limits: Limits, onDeath: (run: () => void) => void) => Limits;
  /** Notes what no order of the requests explains. */
  readonly violate: (text: string, tightened?: string) => void;
}

export interface LimitsModelOptions {
  readonly now: () => number;
  /** Undefined: the key is not known to the plan. */
  readonly plannedFor: (keyId: string) => PlannedLimits | undefined;
  /**
   * `shared`: several programs count together, by messages: what was answered must be explained by some order of calls that overlap.
   * `alone`: a call is answered at once, and there is one order.
   */
  readonly kind: 'shared' | 'alone';
  /** Whether answers may be compared. */
  readonly isCalm: (fromMs: number, untilMs: number) => boolean;
  /** Limits that a tighter promise would have, by its name. */
  readonly tighter: Readonly<Record<string, (planned: PlannedLimits) => PlannedLimits>>;
  /** `tightened`: by which of them it is a fault. Absent: by the limits that were promised. */
  readonly violate: (text: string, tightened?: string) => void;
}

/** A sequential model of rates, places, reservations and tokens a minute, in a few lines. */
export function createLimitsModel(options: LimitsModelOptions): LimitsModel {
  const { now, plannedFor, kind, isCalm, tighter, violate } = options;
  let admissions: Admission[] = [];
  let number = 0;
  const moment = (): Moment => ({ number: (number += 1), ms: now() });
  const tokenModel = createTokenModel({ moment, settledMs: kind === 'shared' ? sharedMs : undefined });

  function prune(): void {
    const from = now() - rememberedMs;
    admissions = admissions.filter(
      ({ answered, free, result }) => answered.ms > from || (result === 'admitted' && free.ms > from),
    );
  }

  const others = (one: Admission, isCounted: (other: Admission) => boolean): readonly Admission[] =>
    admissions.filter((other) => other !== one && isCounted(other));
  /** It has taken a token and a place, or may have. */
  const mayCount = ({ result }: Admission): boolean => result === undefined || result === 'admitted';

  /** The fewest and the most tokens that the key may have had. */
  function tokens(one: Admission, planned: PlannedLimits): { readonly fewest: number; readonly most: number } {
    const ofKey = others(one, (other) => other.ask.keyId === one.ask.keyId && mayCount(other));
    const late = ofKey
      .filter(({ called }) => called.number < one.answered.number)
      .map(({ answered }) => Math.min(answered.ms, one.answered.ms));
    const early = ofKey.filter(({ answered }) => answered.number < one.called.number).map(({ called }) => called.ms);
    return {
      fewest: tokensAfter(late, planned, one.called.ms),
      most: tokensAfter(early, planned, one.answered.ms),
    };
  }

  /** The fewest and the most requests of the workspace that may have been in flight. */
  function inFlight(one: Admission): { readonly fewest: number; readonly most: number } {
    const ofWorkspace = others(one, (other) => other.ask.workspaceId === one.ask.workspaceId && mayCount(other));
    const lateMs = kind === 'shared' ? sharedMs : 0;
    const mayHold = ({ called, free }: Admission): boolean =>
      called.number < one.answered.number && (free.number > one.called.number || free.ms + lateMs > one.called.ms);
    const holds = ({ answered, releasing }: Admission): boolean =>
      answered.number < one.called.number && releasing.number > one.answered.number;
    return { fewest: ofWorkspace.filter(holds).length, most: ofWorkspace.filter(mayHold).length };
  }

  /** What is reserved, of a workspace or of a budget. */
  const reserved = (isOf: (other: Admission) => boolean): bigint =>
    admissions.filter((other) => other.result === 'admitted' && isOf(other)).reduce((sum, { held }) => sum + held, 0n);

  function shortageOf({ ask }: Admission, funds: Funds): Shortage | undefined {
    if (funds.balance <= reserved((other) => other.ask.workspaceId === ask.workspaceId)) return 'balance';
    const isOf = (id: string) => (other: Admission) =>
      budgetsOf(other.ask, other.ask.funds).some((one) => one.id === id);
    return budgetsOf(ask, funds).find(({ id, left }) => left !== undefined && left <= reserved(isOf(id)))?.shortage;
  }

  /** Compares what was said about tokens a minute. A refusal by what is checked before says nothing about them. */
  function compareTokens(
    one: Admission,
    result: LimitName | 'admitted' | undefined,
    during: readonly [Moment, Moment],
  ): void {
    // Which of several limits is named first is not promised.
    for (const held of one.tokens)
      if (!isTokenLimit(result) || result === held.limit.by) compareLimit(one, held, { result, during });
  }

  function compareLimit(
    { planned }: Admission,
    { limit, held }: HeldOfLimit,
    {
      result,
      during,
    }: { readonly result: LimitName | 'admitted' | undefined; readonly during: readonly [Moment, Moment] },
  ): void {
    for (const [tightened, change] of [
      [undefined, (same: PlannedLimits) => same] as const,
      ...Object.entries(tighter),
    ]) {
      const changed = change(planned);
      const perMinute = plannedTokens(changed, limit) ?? 0;
      if (tightened !== undefined && perMinute === plannedTokens(planned, limit)) continue;
      const { fewest, most, sinceMs } = tokenModel.left(perMinute, { limitId: limit.id, own: held, during });
      if (!isCalm(sinceMs, during[1].ms)) return;
      const isRefused = result === limit.by;
      if (isRefused && fewest >= 1 - tolerance.refused)
        violate(
          `key ${changed.key} is refused for its ${limit.by}: it has ${fewest.toFixed(3)} of a minute at least`,
          tightened,
        );
      if (!isRefused && most < 1 - tolerance.admitted)
        violate(`key ${changed.key} is served: it has ${most.toFixed(3)} ${limit.by} of a minute at most`, tightened);
    }
  }

  function compare(one: Admission, result: 'admitted' | LimitName): void {
    if (!isCalm(one.called.ms, one.answered.ms)) return;
    compareWith(one.planned, { one, result, tightened: undefined });
    for (const [tightened, change] of Object.entries(tighter))
      compareWith(change(one.planned), { one, result, tightened });
  }

  function compareWith(
    planned: PlannedLimits,
    {
      one,
      result,
      tightened,
    }: {
      readonly one: Admission;
      readonly result: 'admitted' | LimitName;
      readonly tightened: string | undefined;
    },
  ): void {
    const { key, maxInFlight } = planned;
    const says = (why: string): void =>
      violate(`key ${key} is ${result === 'admitted' ? result : `refused for its ${result}`}: ${why}`, tightened);
    const { fewest, most } = tokens(one, planned);
    if (result === 'rate') {
      if (fewest >= 1 - tolerance.refused) says(`it has ${fewest.toFixed(3)} tokens at least`);
      return;
    }
    if (most < 1 - tolerance.admitted) says(`it has ${most.toFixed(3)} tokens at most`);
    const places = inFlight(one);
    if (result === 'concurrency') {
      if (places.most < maxInFlight) says(`${places.most} requests of ${maxInFlight} are in flight at most`);
      return;
    }
    if (places.fewest >= maxInFlight) says(`${places.fewest} requests of ${maxInFlight} are in flight already`);
    if (isTokenLimit(result)) return;
    if (kind === 'shared' || tightened !== undefined) return;
    const short = shortageOf(one, one.ask.funds) ?? 'admitted';
    if (short !== result) says(`expected ${short}`);
  }

  /** What is asked must be what the plan says: a limit that was read wrongly counts wrongly everywhere. */
  function compareAsk(planned: PlannedLimits, { rate, burst, maxInFlight, tokens: asked = [] }: LimitsAsk): void {
    const { key, tokensPerMinute, workspaceTokens } = planned;
    const perMinute = (name: TokenLimitName): number | undefined => asked.find(({ by }) => by === name)?.perMinute;
    const ofTags = asked.filter(({ by }) => by === 'tag-tokens');
    const [wanted, found] = [
      [
        planned.rate,
        planned.burst,
        planned.maxInFlight,
        tokensPerMinute,
        workspaceTokens,
        ...ofTags.map((limit) => plannedTokens(planned, limit) ?? 0),
      ],
      [
        rate,
        burst,
        maxInFlight,
        perMinute('tokens'),
        perMinute('workspace-tokens'),
        ...ofTags.map((limit) => limit.perMinute),
      ],
    ].map((limits) => limits.filter((limit) => limit !== undefined).join());
    if (wanted !== found) violate(`key ${key} is held against ${found} in place of ${wanted}`);
  }

  function slotOf(one: Admission, slot: Slot, own: Set<Admission>): Slot {
    const keep = (cost: bigint, short: Short): Short => {
      if (short === undefined) one.held = cost;
      return short;
    };
    return {
      tokens: slot.tokens,
      reserve: (cost, funds, asked) => {
        const expected = shortageOf(one, funds);
        const called = moment();
        const answered = one.tokens.map(({ held }) => held.reserve(asked?.tokens ?? 0));
        const end = (short: Short): Short => {
          for (const answer of answered) answer(short === undefined);
          // Funds are looked at first where a server counts tokens.
          if (kind === 'alone' || short === undefined || isTokenLimit(short))
            compareTokens(one, short, [called, kind === 'alone' ? called : moment()]);
          return keep(cost, short);
        };
        const short = slot.reserve(cost, funds, asked);
        if (short instanceof Promise) return short.then(end);
        if (kind === 'alone' && !isTokenLimit(short) && short !== expected)
          violate(`key ${one.planned.key} reserves: ${short ?? 'nothing'} is short, expected ${expected ?? 'nothing'}`);
        return end(short);
      },
      adjust: (cost, asked) => {
        if (one.releasing === never) one.held = cost;
        if (asked !== undefined && one.releasing === never)
          for (const { held } of one.tokens) held.adjust(asked.tokens);
        slot.adjust(cost, asked);
      },
      release: (left, used) => {
        if (one.releasing === never) {
          [one.releasing, one.held] = [moment(), 0n];
          for (const { held } of one.tokens) held.settle(used?.tokens ?? 0);
        }
        const released = slot.release(left, used);
        const end = (): void => {
          if (one.free === never) one.free = moment();
          own.delete(one);
        };
        if (released instanceof Promise) return released.finally(end);
        end();
        return released;
      },
    };
  }

  return {
    violate,
    watch: (limits, onDeath) => {
      const own = new Set<Admission>();
      onDeath(() => {
        for (const one of own) {
          for (const { held } of one.tokens) held.die();
          if (one.releasing === never) one.releasing = moment();
          if (one.answered === never) one.answered = moment();
          // The others count it until its lease has ended.
          if (one.free === never) one.free = { ...moment(), ms: now() + 60_000 };
          one.held = 0n;
        }
      });
      return {
        admit: (ask) => {
          const planned = plannedFor(ask.keyId);
          if (planned === undefined) return limits.admit(ask);
          prune();
          compareAsk(planned, ask);
          const one: Admission = {
            ...{ ask, planned, called: moment(), answered: never, result: undefined },
            ...{ releasing: never, free: never, held: 0n },
            tokens: (ask.tokens ?? []).map((limit) => ({ limit, held: tokenModel.hold(limit.id) })),
          };
          admissions.push(one);
          own.add(one);
          const end = (result: AdmitResult): AdmitResult => {
            one.answered = moment();
            const said = result.kind === 'refused' ? result.by : 'admitted';
            compare(one, said);
            if (said !== 'rate' && said !== 'concurrency') compareTokens(one, said, [one.called, one.answered]);
            one.result = said;
            if (result.kind === 'refused') {
              own.delete(one);
              return result;
            }
            return { ...result, slot: slotOf(one, result.slot, own) };
          };
          const result = limits.admit(ask);
          return result instanceof Promise ? result.then(end) : end(result);
        },
      };
    },
  };
}

/** The tokens of a bucket at a moment, when one was taken at each of these. */
function tokensAfter(taken: readonly number[], { rate, burst }: RateLimit, atMs: number): number {
  let [left, from] = [burst, -Infinity];
  for (const at of taken.toSorted((one, other) => one - other)) {
    left = Math.min(burst, left + ((at - from) * rate) / 1_000) - 1;
    from = at;
  }
  return Math.min(burst, left + ((atMs - from) * rate) / 1_000);
}

const withTokens = (planned: PlannedLimits, more: number): PlannedLimits => ({
  ...planned,
  tokensPerMinute: planned.tokensPerMinute && planned.tokensPerMinute + more,
  workspaceTokens: planned.workspaceTokens && planned.workspaceTokens + more,
  tagTokens:
    planned.tagTokens &&
    Object.fromEntries(Object.entries(planned.tagTokens).map(([tag, perMinute]) => [tag, perMinute + more])),
});

/** Each limit one unit lower, and one unit higher. */
export const tighterLimits: LimitsModelOptions['tighter'] = {
  'a token fewer': (planned) => ({ ...planned, burst: planned.burst - 1 }),
  'a token more': (planned) => ({ ...planned, burst: planned.burst + 1 }),
  'a place fewer': (planned) => ({ ...planned, maxInFlight: planned.maxInFlight - 1 }),
  'a place more': (planned) => ({ ...planned, maxInFlight: planned.maxInFlight + 1 }),
  'a token of a minute fewer': (planned) => withTokens(planned, -1),
  'a token of a minute more': (planned) => withTokens(planned, 1),
};

/** The model of each service of a world: one for all where they share their limits. Answers that no order explains go into `faults`. */
export function createLimitsModels(
  { plan, scheduler, spells }: Pick<World, 'plan' | 'scheduler' | 'spells'>,
  { keys, faults }: { readonly keys: () => World['keys']; readonly faults: WorldFault[] },
): () => LimitsModel {
  const options = {
    now: scheduler.now,
    plannedFor: (keyId: string): PlannedLimits | undefined => {
      const key = keys().findIndex(({ id, later }) => id === keyId || later?.id === keyId);
      const planned = keyPlans[key];
      const { maxInFlight = 0, tokensPerMinute, tagTokensPerMinute } = workspaces[planned?.workspace ?? -1] ?? {};
      return (
        planned && { ...planned, key, maxInFlight, workspaceTokens: tokensPerMinute, tagTokens: tagTokensPerMinute }
      );
    },
    tighter: tighterLimits,
    violate: (text: string, tightened?: string) => void faults.push({ invariant: 'limits', text, tightened }),
  };
  const isCalm = (from: number, until: number): boolean =>
    spells.every(([begin, end]) => end < from - healedMs || begin > until);
  const shared = createLimitsModel({ ...options, kind: 'shared', isCalm });
  return () => (plan.valkey ? shared : createLimitsModel({ ...options, kind: 'alone', isCalm: () => true }));
}
