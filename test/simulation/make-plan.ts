import { usualSurfaces } from '../../src/core/api-paths.ts';
import { type ChatSurface, chatSurfaces } from '../../src/core/dialect.ts';
import { type Chance, pick, seededChance } from '../programmable-engine/chance.ts';
import type { BehaviourInput } from '../programmable-engine/behaviour.ts';
import {
  type FaultEvent,
  isRequest,
  type OperatorEvent,
  type RequestEvent,
  type SearchWish,
  type WorldEvent,
  type WorldPlan,
} from './events.ts';
import { revokedKeys } from './accounts.ts';
import { clusterOf } from './cluster/cluster-events.ts';
import { pairsOf } from './pairs.ts';
import { placedEvents } from './placed-requests.ts';
import {
  flappingEndpoints,
  halfOf,
  one,
  rareKey,
  rareLength,
  rarePlaces,
  rareRequest,
  rareStore,
  type Rarity,
  raritiesOf,
} from './rare-events.ts';
import { vectorRequests } from './vectors.ts';

const hourMs = 3_600_000;
/** A Monday. */
const monday = Date.UTC(2026, 5, 1);
const lastOfJune = Date.UTC(2026, 5, 30);

/** How an answer breaks at the engine that answers first. Another endpoint can continue, or answer in its place. */
const breaks = ['cut', 'reset', 'stall', 'truncate', 'end', 'error', 'error-then-done', 'malformed-then-cut'] as const;
const places = ['before-headers', 'after-headers', 1, 2, 3, 5, 8, 13, 1000] as const;
const statuses = [429, 500, 502, 503, 529] as const;
const searchTroubles = ['slow', 'fails', 'refuses', 'silent'] as const;
const engineNames = ['a1', 'a2', 'b1'] as const;
/** How often the trouble of a request is that of all engines. */
const everywhereShare = 0.12;

/** Random requests of which one is chosen while pairs of values are missing, and the most that are drawn to find one of them. */
const candidates = 24;
const mostCandidates = 1_000;

/** Requests to the responses surface in a world that does not have it. */
const strays = 5;

/** The dimensions that are crossed. A value that is here twice is twice as frequent. */
const dimensions = {
  trace: ['plain', 'summary', 'sealed'],
  search: [
    ...(['none', 'none', 'none', 'none', 'none', 'none', 'found', 'found'] as const),
    ...(['nothing', 'slow', 'fails', 'fails-once', 'busy', 'silent', 'garbled'] as const),
  ],
  stream: [true, false],
  ask: ['text', 'text', 'tools', 'schema'],
  model: ['tiny', 'thinker'],
  choices: [1, 1, 2, 3],
  trouble: ['none', 'none', 'break', 'status', 'slow'],
  usage: ['honest', 'honest', 'honest', 'absent', 'running', 'at-the-end'],
  leaves: [false, false, false, true],
  reads: ['at once', 'at once', 'slowly'],
} as const;

/** How engines count: also those that break, or that continue what others have begun. */
const counts = {
  honest: {},
  absent: { usage: 'absent' },
  running: { usageWhere: 'every-chunk' },
  'at-the-end': { continuousUsage: false },
} as const;

function directiveOf(chance: Chance): BehaviourInput | undefined {
  const trouble = one(dimensions.trouble, chance);
  const counted: BehaviourInput = counts[one(dimensions.usage, chance)];
  // Where no engine can continue, the answer breaks off.
  const on = chance() < everywhereShare ? engineNames : [pick(engineNames, chance)];
  switch (trouble) {
    case 'none':
      return counted;
    case 'slow':
      return { ...counted, on, firstTokenDelayMs: 200 + Math.floor(chance() * 4_000) };
    case 'status':
      return { ...counted, on, status: pick(statuses, chance), times: 1 };
    case 'break': {
      const at = one(places, chance);
      const fault = one(breaks, chance);
      return { ...counted, on, fault, at: typeof at === 'number' ? { events: at } : at, times: 1 };
    }
  }
}

function searchOf(chance: Chance): SearchWish | undefined {
  const outcome = one(dimensions.search, chance);
  if (outcome === 'none') return undefined;
  return {
    rounds: Array.from({ length: one([1, 1, 2], chance) }, () => one([1, 1, 2], chance)),
    outcome,
    maxUses: chance() < 0.3 ? 1 + Math.floor(chance() * 2) : undefined,
    struckRound: one([0, 1, 1, 2], chance),
    follows: chance() < 0.4,
  };
}

/** What requests are drawn from. */
interface Drawing {
  readonly chance: Chance;
  /** The surfaces of the world. */
  readonly served: readonly ChatSurface[];
  /** What the world has more of. Absent: nothing. */
  readonly rare?: ReadonlySet<Rarity>;
}

const none: ReadonlySet<Rarity> = new Set();

export function requestOf(id: number, at: number, from: Drawing): RequestEvent {
  const { chance, served, rare = none } = from;
  const surface = one(served, chance);
  const ask = one(dimensions.ask, chance);
  const stream = one(dimensions.stream, chance);
  const model = one(dimensions.model, chance);
  const choices = surface !== 'chat' || ask !== 'text' ? 1 : one(dimensions.choices, chance);
  return {
    ...{ kind: 'request', at, id, surface, model, stream, choices },
    key: rareKey(rare, chance) ?? (chance() < 0.15 ? one(revokedKeys, chance) : Math.floor(chance() * 6)),
    service: Math.floor(chance() * 4),
    includeUsage: chance() < 0.8,
    ask,
    words: 4 + Math.floor(chance() * 40),
    maxTokens: chance() < 0.2 ? 8 + Math.floor(chance() * 60) : undefined,
    topic: Math.floor(chance() * 12),
    directive: directiveOf(chance),
    search: surface === 'chat' ? undefined : searchOf(chance),
    trace: surface === 'responses' ? one(dimensions.trace, chance) : undefined,
    // Some leave before their request is dispatched.
    leavesAfterMs: one(dimensions.leaves, chance) ? chance() * (chance() < 0.3 ? 2 : 400) : undefined,
    readsPerMs: one(dimensions.reads, chance) === 'slowly' ? 0.5 + chance() * 20 : undefined,
  };
}

const possible = new Map<readonly ChatSurface[], number>();

/** How many pairs of values the requests of a world can have: those of very many random ones. */
function possiblePairs(served: readonly ChatSurface[]): number {
  const known = possible.get(served);
  if (known !== undefined) return known;
  const chance = seededChance(1);
  const pairs = new Set<number>();
  for (let id = 0; id < 60_000; id += 1)
    for (const pair of pairsOf(requestOf(id, 0, { chance, served }))) pairs.add(pair);
  possible.set(served, pairs.size);
  return pairs.size;
}

/** Of some random requests, the one with the most pairs of values that no earlier request of the plan has. */
function requestWithNewPairs(
  id: number,
  at: number,
  from: Drawing & { readonly seen: ReadonlySet<number> },
): RequestEvent {
  const newPairs = (event: RequestEvent): number => pairsOf(event).filter((pair) => !from.seen.has(pair)).length;
  let best = requestOf(id, at, from);
  let most = newPairs(best);
  for (let tries = 1; tries < candidates || (most === 0 && tries < mostCandidates); tries += 1) {
    const other = requestOf(id, at, from);
    const found = newPairs(other);
    if (found > most) [best, most] = [other, found];
  }
  return best;
}

/** Requests of rich keys at the end of an hour, or of a day: some begin before it and end after it. */
function requestsAround(end: number, firstId: number, from: Drawing): readonly RequestEvent[] {
  return Array.from({ length: 16 }, (_, index) => ({
    ...requestOf(firstId + index, end - 800 + 100 * index, from),
    key: 2 * Math.floor(from.chance() * 2),
    leavesAfterMs: undefined,
  }));
}

/**
 * Rows go to the journal and are settled when the lock is gone. They are there again after a power cut that follows, or for
 * the next life of a service that dies before it removes them.
 */
function replayOf(at: number, again: 'after-power-cut' | 'after-death', chance: Chance): readonly FaultEvent[] {
  const forMs = 200 + chance() * 2_000;
  const downMs = 500 + chance() * 2_000;
  const locked: FaultEvent = { kind: 'locked', at, forMs };
  if (again === 'after-death') {
    const dying = { kind: 'dies', at, moment: 'before-journal-removed', forMs: forMs + 5_000, downMs } as const;
    return [locked, ...[0, 1, 2, 3].map((service): FaultEvent => ({ ...dying, service }))];
  }
  return [locked, { kind: 'power-cut', at: at + forMs + 100 + chance() * 1_000, downMs }];
}

/** At a moment that is more often than not close to a request, so that faults meet requests. */
function moment(requests: readonly RequestEvent[], length: number, chance: Chance): number {
  const request = one(requests, chance);
  return chance() < 0.8 ? Math.min(length, request.at + chance() * 300) : chance() * length;
}

/** `on`: the kinds that the world has. */
function faultOf(at: number, on: ReadonlySet<string>, chance: Chance): FaultEvent {
  const service = Math.floor(chance() * 4);
  const forMs = 10 + chance() * chance() * 30_000;
  const kinds: readonly FaultEvent[] = [
    { kind: 'kill', at, service, downMs: 200 + chance() * 5_000 },
    { kind: 'kill', at, service, downMs: 200 + chance() * 5_000 },
    {
      ...{ kind: 'dies', at, service, forMs, downMs: 200 + chance() * 5_000 },
      moment: one(['after-commit', 'before-journal-removed'] as const, chance),
    },
    { kind: 'restart', at, service, downMs: 200 + chance() * 2_000 },
    { kind: 'power-cut', at, downMs: 500 + chance() * 5_000 },
    { kind: 'pause', at, service, forMs: 10 + chance() * chance() * 60_000 },
    { kind: 'pause', at, service, forMs },
    { kind: 'clock-jump', at, service, ms: Math.round((chance() - 0.5) * 20_000) },
    { kind: 'disk', at, trouble: one(['full', 'fails', 'cannot-sync'] as const, chance), forMs },
    { kind: 'locked', at, forMs },
    { kind: 'engine', at, engine: pick(engineNames, chance), state: chance() < 0.5 ? 'refuses' : 'silent', forMs },
    { kind: 'dns', at, service, engine: pick(engineNames, chance), forMs },
    { kind: 'search', at, trouble: one(searchTroubles, chance), forMs: 2 * forMs },
    { kind: 'partition', at, service, forMs },
    { kind: 'valkey', at, trouble: one(['slow', 'away', 'forgets'] as const, chance), forMs },
  ];
  return one(
    kinds.filter(({ kind }) => on.has(kind)),
    chance,
  );
}

function operatorEventOf(at: number, on: ReadonlySet<string>, chance: Chance): readonly OperatorEvent[] {
  const key = Math.floor(chance() * 6);
  const workspace = Math.floor(chance() * 3);
  const kinds: readonly (readonly OperatorEvent[])[] = [
    [{ kind: 'credit', at, workspace, picoUsd: String(1 + Math.floor(chance() * 1_000_000_000)) }],
    // Most requests cost little: a correction meets what is reserved for them only if it takes nearly all.
    [{ kind: 'correction', at, workspace, share: one([0.5, 0.99, 1] as const, chance), forMs: 200 + chance() * 2_000 }],
    [
      { kind: 'key-status', at, key, status: 'suspended' },
      { kind: 'key-status', at: at + 5_000 + chance() * 60_000, key, status: 'active' },
    ],
    [
      { kind: 'workspace-status', at, workspace, status: 'suspended' },
      { kind: 'workspace-status', at: at + 5_000 + chance() * 30_000, workspace, status: 'active' },
    ],
    [{ kind: 'budget', at, key, picoUsd: String(1_000_000_000 + Math.floor(chance() * 9_000_000_000)) }],
    [
      {
        kind: 'prices',
        at,
        factor: 1 + Math.floor(chance() * 3),
        ...(chance() < 0.2 ? { window: 'narrow' as const } : {}),
      },
    ],
    [{ kind: 'retire', at, backend: chance() < 0.5 ? 'a' : 'b', forMs: 5_000 + chance() * 60_000 }],
  ];
  return one(
    kinds.filter(([first]) => first !== undefined && on.has(first.kind)),
    chance,
  );
}

/** Half of each are in a world. */
const faultKinds = [
  ...(['kill', 'dies', 'restart', 'power-cut', 'pause', 'clock-jump', 'disk'] as const),
  ...(['locked', 'engine', 'dns', 'search', 'partition', 'valkey'] as const),
];
const operatorKinds = ['credit', 'correction', 'key-status', 'workspace-status', 'budget', 'prices', 'retire'] as const;

/** The plan of a world that lasts an hour or two. One hour in three has midnight in it. */
export function makePlan(seed: number, requests = 520): WorldPlan {
  const chance = seededChance(seed);
  const services = 1 + Math.floor(chance() * 4);
  const rare = raritiesOf(chance);
  const { hours, ...kept } = rareLength(rare);
  const day = rare.has('end-of-month') ? lastOfJune : monday + Math.floor(chance() * 7) * 86_400_000;
  const isLate = rare.has('end-of-month') || chance() < 0.4;
  const startsAt = Math.floor(day + (isLate ? 22.6 + chance() * 1.2 : chance() * 23) * hourMs);
  const responses = chance() < 0.8;
  const from: Drawing = { chance, served: responses ? chatSurfaces : usualSurfaces, rare };
  const asked = requestsOf({ requests, startsAt, hours }, from);
  const latest = Math.max(...asked.map(({ at }) => at));
  // Where the surface is off, its path is like any other that does not exist.
  for (let tries = 0; tries < (responses ? 0 : strays); tries += 1)
    asked.push(requestOf(asked.length + 1, chance() * latest, { chance, served: ['responses'] }));
  const length = Math.max(latest, hours * hourMs - 10_000);
  const draw = (id: number, at: number): RequestEvent => requestOf(id, at, { chance, served: from.served });
  const placed = placedEvents(rare, { draw, firstId: asked.length + 1, lengthMs: length, chance });
  const events: WorldEvent[] = [...asked, ...placed, ...flappingEndpoints(rare, asked, chance)];
  const [faultsOn, operatorsOn] = [halfOf(faultKinds, chance), halfOf(operatorKinds, chance)];
  const calmness = chance();
  const faults = calmness < 0.25 ? 0 : Math.floor(chance() * 24);
  for (let index = 0; index < faults; index += 1) events.push(faultOf(moment(asked, length, chance), faultsOn, chance));
  for (const again of faults > 0 ? (['after-power-cut', 'after-death'] as const) : [])
    if (chance() < 0.5) events.push(...replayOf(moment(asked, length, chance), again, chance));
  if (faults > 0 && chance() < 0.7)
    for (const operations of [chance() * 6, chance() * 40, chance() * 200])
      events.push({
        ...{ kind: 'power-cut', at: moment(asked, length, chance) },
        ...{ operations: Math.floor(operations), downMs: 500 + chance() * 2_000 },
      });
  for (const key of revokedKeys)
    if (chance() < 0.7) events.push({ kind: 'key-status', at: chance() * length, key, status: 'revoked' });
  const operations = Math.floor(chance() * 16);
  for (let index = 0; index < operations; index += 1)
    events.push(...operatorEventOf(moment(asked, length, chance), operatorsOn, chance));
  if (operations > 0) {
    const correction = { workspace: Math.floor(chance() * 3), share: 1, forMs: 1_000 } as const;
    events.push({ kind: 'correction', at: moment(asked, length, chance), ...correction });
  }
  const { happenings, ...cluster } = clusterOf({ seed, hours, services });
  events.push(...happenings);
  events.push(
    ...vectorRequests(seed, events.filter(isRequest), (id, at, own) =>
      requestOf(id, at, { chance: own, served: ['chat'] }),
    ),
  );
  return {
    ...{
      seed,
      hours,
      services,
      startsAt,
      ...kept,
      ...rareStore(rare, chance),
      ...rarePlaces(rare, chance),
      ...cluster,
    },
    ...(rare.has('identities') ? { identities: true } : {}),
    ...{ valkey: services > 1 || chance() < 0.3, responses },
    searchProvider: chance() < 0.75 ? 'none' : one(searchTroubles, chance),
    events: events.toSorted((first, second) => first.at - second.at),
  };
}

/** The requests of a world: in bursts, with silence between them, and at the end of an hour or a day. */
function requestsOf(
  { requests, startsAt, hours }: { readonly requests: number; readonly startsAt: number; readonly hours: number },
  from: Drawing,
): RequestEvent[] {
  const { chance, rare = none } = from;
  const asked: RequestEvent[] = [];
  const pairs = new Set<number>();
  const maxPairs = possiblePairs(from.served);
  let at = 1_000;
  while (asked.length < requests) {
    const burst = 1 + Math.floor(chance() * 30);
    for (let index = 0; index < burst && asked.length < requests; index += 1) {
      at += chance() * 120;
      const id = asked.length + 1;
      // When no pair is missing, the others are as chance has them.
      const isCrossed = pairs.size >= maxPairs;
      const drawn = isCrossed ? requestOf(id, at, from) : requestWithNewPairs(id, at, { ...from, seen: pairs });
      const next = rareRequest(drawn, rare, chance);
      // A changed one has lost some of its pairs.
      for (const pair of isCrossed || next !== drawn ? [] : pairsOf(next)) pairs.add(pair);
      asked.push(next);
    }
    at += chance() * ((2 * hours * hourMs * 15) / requests);
  }
  for (const boundary of [hourMs, 24 * hourMs]) {
    const end = boundary - (startsAt % boundary);
    if (end > 2_000 && end < hours * hourMs) asked.push(...requestsAround(end, asked.length + 1, from));
  }
  return asked;
}
