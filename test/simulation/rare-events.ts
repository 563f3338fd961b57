import type { Chance } from '../programmable-engine/chance.ts';
import type { BehaviourInput } from '../programmable-engine/behaviour.ts';
import { crowdedKey, endingKey, limitedKeys, longBudgetKeys, slowKey, tokenKeys, unknownKey } from './accounts.ts';
import type { FaultEvent, RequestEvent, WorldPlan } from './events.ts';
import { expectedAnswer } from './expected-answer.ts';

/**
 * What a world may have more of than others. Each world has about half of it, and half of the kinds of faults and changes: what
 * happens seldom beside everything else happens often where nothing else does.
 */
const rarities = [
  ...([
    'other-continuations',
    'one-choice-capped',
    'tight-limits',
    'long-budgets',
    'ending-keys',
    'unknown-keys',
  ] as const),
  ...(['slow-uploads', 'slow-store', 'flapping-endpoints', 'few-places', 'end-of-month', 'long'] as const),
  ...(['long-outage', 'store-states', 'identities', 'joined-events', 'token-limits'] as const),
] as const;
export type Rarity = (typeof rarities)[number];

/** How often a world has some of it, if not in half of all. */
const shares: Partial<Readonly<Record<Rarity, number>>> = {
  ...{ 'end-of-month': 0.15, long: 0.12, 'few-places': 0.2, 'long-outage': 0.15 },
  ...{ identities: 0.35 },
};

export const one = <Value>(values: readonly Value[], chance: Chance): Value =>
  values[Math.floor(chance() * values.length)]!;

export const raritiesOf = (chance: Chance): ReadonlySet<Rarity> =>
  new Set(rarities.filter((rarity) => chance() < (shares[rarity] ?? 0.5)));

/** About half of these, and one at least. */
export function halfOf<Value>(values: readonly Value[], chance: Chance): ReadonlySet<Value> {
  const kept = new Set(values.filter(() => chance() < 0.5));
  return kept.size > 0 ? kept : new Set([one(values, chance)]);
}

/** A key for a request that is not of the usual ones. Undefined: a usual one. */
export function rareKey(rare: ReadonlySet<Rarity>, chance: Chance): number | undefined {
  const keys = [
    ...(rare.has('tight-limits') ? [slowKey, crowdedKey] : []),
    ...(rare.has('long-budgets') ? longBudgetKeys : []),
    ...(rare.has('ending-keys') ? [endingKey] : []),
    ...(rare.has('unknown-keys') ? [unknownKey] : []),
    ...(rare.has('identities') ? tokenKeys : []),
    ...(rare.has('token-limits') ? limitedKeys : []),
  ];
  return keys.length > 0 && chance() < 0.3 ? one(keys, chance) : undefined;
}

/** How engines differ when they are to continue an answer. What they repeat is longer than what Weir takes for chance. */
const refusing: readonly BehaviourInput[] = [{ continuation: 'refuse' }];
const repeating: readonly BehaviourInput[] = [
  { continuation: 'echo' },
  ...(['misfiled', 'overlap', 'restarts-reasoning', 'restarts-text'] as const).map((continuationQuirk) => ({
    continuationQuirk,
  })),
];
/** Of a model that reasons, the break may come when it has said hardly anything yet. */
const reasoningAgain: readonly BehaviourInput[] = [{ continuationQuirk: 'restarts-reasoning' }];
const late = { at: { events: 30 }, words: 30 };

function withContinuation(event: RequestEvent, chance: Chance): RequestEvent {
  const { directive, choices, search, ask, model } = event;
  if (directive?.fault === undefined) return event;
  const repeats = model === 'thinker' ? reasoningAgain : repeating;
  const mayRepeat = choices === 1 && search === undefined && ask === 'text';
  if (!mayRepeat || chance() < 0.3) return { ...event, directive: { ...directive, ...one(refusing, chance) } };
  const { at, words } = late;
  return { ...event, words, maxTokens: undefined, directive: { ...directive, at, ...one(repeats, chance) } };
}

/** Some events come at once, as from an engine that is ahead of its reader, also where the rest of the answer breaks off again. */
function withJoinedEvents(event: RequestEvent, chance: Chance): RequestEvent {
  const { directive } = event;
  const again = directive?.fault === undefined ? {} : { times: 1 + Math.floor(chance() * 3) };
  const joined = { tokenDelayMs: 0, eventsPerWrite: 2 + Math.floor(chance() * 8) };
  return { ...event, directive: { ...directive, ...again, ...joined } };
}

/** A request with what its world has more of. */
export function rareRequest(event: RequestEvent, rare: ReadonlySet<Rarity>, chance: Chance): RequestEvent {
  const next = withRare(event, rare, chance);
  return rare.has('joined-events') && chance() < 0.3 ? withJoinedEvents(next, chance) : next;
}

function withRare(event: RequestEvent, rare: ReadonlySet<Rarity>, chance: Chance): RequestEvent {
  if (rare.has('other-continuations') && chance() < 0.5) return withContinuation(event, chance);
  if (event.choices > 1 && rare.has('one-choice-capped') && chance() < 0.5) return withOneCapped(event, chance);
  if (!rare.has('slow-uploads') || chance() >= 0.06) return event;
  return { ...event, upload: { ms: 300 + chance() * 14_000, stalls: chance() < 0.25 } };
}

/** Of several choices, only the longest ends by the cap, often after a break that each of them survives alone. */
function withOneCapped(event: RequestEvent, chance: Chance): RequestEvent {
  const { lengths } = expectedAnswer({ ...event, maxTokens: undefined });
  const capped = { ...event, maxTokens: Math.max(1, Math.max(...lengths) - 1) };
  if (chance() < 0.4) return capped;
  const broken = { on: ['a1', 'a2'], fault: 'cut', at: { events: 3 + Math.floor(chance() * 30) }, times: 1 } as const;
  return { ...capped, stream: true, directive: { ...broken, ...(chance() < 0.5 ? { continuousUsage: false } : {}) } };
}

/** Requests that come one right after the other: the thread of the store has several rows to commit at once. */
export const rareStore = (rare: ReadonlySet<Rarity>, chance: Chance): Pick<WorldPlan, 'storeMs'> =>
  rare.has('slow-store') ? { storeMs: 10 + chance() * 50 } : {};

/** A world of two hours. Rows are old enough there to be removed. */
export const rareLength = (rare: ReadonlySet<Rarity>): Pick<WorldPlan, 'hours' | 'retentionHours'> =>
  rare.has('long') ? { hours: 2, ...(rare.has('long-outage') ? {} : { retentionHours: 0.5 }) } : { hours: 1 };

/** So few requests for each endpoint that they are all taken at times. */
export const rarePlaces = (rare: ReadonlySet<Rarity>, chance: Chance): Pick<WorldPlan, 'endpointPlaces'> =>
  rare.has('few-places') ? { endpointPlaces: 2 + Math.floor(chance() * 3) } : {};

export function flappingEndpoints(
  rare: ReadonlySet<Rarity>,
  requests: readonly RequestEvent[],
  chance: Chance,
): readonly FaultEvent[] {
  return Array.from({ length: rare.has('flapping-endpoints') ? 12 : 0 }, () => ({
    ...({ kind: 'dns', at: one(requests, chance).at + chance() * 200, service: Math.floor(chance() * 4) } as const),
    ...{ engine: one(['a1', 'a2', 'b1'], chance), forMs: 5 + chance() * 400 },
  }));
}
