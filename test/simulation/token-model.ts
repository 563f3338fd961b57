/** A point of a run. Calls and answers have numbers of one sequence, so that those of one moment have an order. */
export interface Moment {
  readonly number: number;
  readonly ms: number;
}

export const never: Moment = { number: Infinity, ms: Infinity };

/** From `from` on a request may hold so many tokens, and from `until` on it does. */
interface Change {
  readonly from: Moment;
  readonly until: () => Moment;
  readonly tokens: number;
}

/** The tokens that a request holds of a limit, as it changes them. */
export interface HeldTokens {
  /** Asks for so many. Returns what is to be called with the answer. */
  readonly reserve: (tokens: number) => (isReserved: boolean) => void;
  readonly adjust: (tokens: number) => void;
  readonly settle: (tokens: number) => void;
  /** Its program ends: what is on its way may never arrive. */
  readonly die: () => void;
}

/** The fewest and the most tokens that a limit may have left, and since when requests are known that hold some. */
export interface TokensLeft {
  readonly fewest: number;
  readonly most: number;
  readonly sinceMs: number;
}

/** Who asks, and when. */
interface Asked {
  readonly limitId: string;
  readonly own: HeldTokens | undefined;
  readonly during: readonly [called: Moment, answered: Moment];
}

/** What was held is forgotten so long after all of it has flowed in again: answers may hold many times the limit. */
const rememberedMs = 10 * 60_000;
/** Before a change, as moments are numbers. */
const before = 1e-6;

/**
 * The tokens that requests hold of limits in tokens a minute, by limit. A limit holds a minute's tokens and fills continuously: at any time
 * it has the least that any earlier moment allows, which is a full bucket, what has flowed in since, and without what has been
 * taken since.
 */
export function createTokenModel({
  moment,
  settledMs,
}: {
  readonly moment: () => Moment;
  /** How long a server may not know what was changed. Undefined: a change counts at once. */
  readonly settledMs: number | undefined;
}) {
  const byLimit = new Map<string, { readonly changes: readonly Change[]; readonly owner: HeldTokens }[]>();

  function hold(limitId: string): HeldTokens {
    const changes: Change[] = [];
    let answeredAt = never;
    let isDead = false;
    const atOnce = (): { readonly from: Moment; readonly until: () => Moment } => {
      const from = moment();
      return { from, until: () => from };
    };
    const owner: HeldTokens = {
      reserve: (tokens) => {
        const change = { from: moment(), until: () => answeredAt, tokens };
        changes.push(change);
        byLimit.getOrInsertComputed(limitId, () => []).push({ changes, owner });
        return (isReserved) => {
          if (isReserved) answeredAt = moment();
          else changes.splice(changes.indexOf(change), 1);
        };
      },
      adjust: (tokens) => {
        if (changes.length === 0) return;
        // A server gets several changes as one.
        changes.push(
          settledMs === undefined ? { ...atOnce(), tokens } : { from: moment(), until: () => never, tokens },
        );
      },
      settle: (tokens) => {
        if (changes.length === 0) return;
        const from = moment();
        const late = (): Moment =>
          isDead ? never : { number: Infinity, ms: Math.max(from.ms, answeredAt.ms) + (settledMs ?? 0) };
        changes.push(settledMs === undefined ? { ...atOnce(), tokens } : { from, until: late, tokens });
      },
      die: () => {
        isDead = true;
      },
    };
    return owner;
  }

  /** The fewest and the most tokens that a request may hold from one moment to another. */
  function heldBetween(changes: readonly Change[], first: Moment, last: Moment): readonly [number, number] {
    let [fewest, most] = [0, 0];
    for (const { from, until, tokens } of changes) {
      if (from.number > last.number || from.ms > last.ms) break;
      const done = until();
      const isDone = done.number < first.number || done.ms < first.ms;
      [fewest, most] = isDone ? [tokens, tokens] : [Math.min(fewest, tokens), Math.max(most, tokens)];
    }
    return [fewest, most];
  }

  /** What is left for a request, whose own tokens do not count. */
  function left(perMinute: number, { limitId, own, during: [called, answered] }: Asked): TokensLeft {
    const known = byLimit.get(limitId) ?? [];
    const owed = known.reduce((sum, { changes }) => sum + (changes.at(-1)?.tokens ?? 0), 0);
    const forgotten = called.ms - rememberedMs - (owed * 60_000) / perMinute;
    const remembered = known.filter(({ changes }) => (changes.at(-1)?.until().ms ?? Infinity) > forgotten);
    byLimit.set(limitId, remembered);
    const requests = remembered.flatMap(({ changes, owner }) => (owner === own ? [] : [changes]));
    const held = requests.map((changes) => heldBetween(changes, called, answered));
    const bounds = requests.flatMap((changes) =>
      changes.flatMap(({ from, until }) => [from.ms - before, from.ms, Math.min(until().ms, answered.ms)]),
    );
    const inflow = (fromMs: number, toMs: number): number => (Math.max(0, toMs - fromMs) * perMinute) / 60_000;
    const result = { fewest: perMinute, most: perMinute };
    for (const ms of bounds) {
      const at = { number: Infinity, ms };
      const then = requests.map((changes) => heldBetween(changes, { number: -Infinity, ms }, at));
      const sum = (value: (at: number) => number): number => held.reduce((total, _, index) => total + value(index), 0);
      const mostTaken = sum((index) => (held[index]?.[1] ?? 0) - (then[index]?.[0] ?? 0));
      const leastTaken = sum((index) => (held[index]?.[0] ?? 0) - (then[index]?.[1] ?? 0));
      result.fewest = Math.min(result.fewest, perMinute + inflow(ms, called.ms) - mostTaken);
      result.most = Math.min(result.most, perMinute + inflow(ms, answered.ms) - leastTaken);
    }
    return { ...result, sinceMs: Math.min(called.ms, ...bounds) };
  }

  return { hold, left };
}
