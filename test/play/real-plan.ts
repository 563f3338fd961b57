import { chatSurfaces } from '../../src/core/dialect.ts';
import type { BehaviourInput } from '../programmable-engine/behaviour.ts';
import { type Chance, seededChance } from '../programmable-engine/chance.ts';
import type {
  FaultEvent,
  IssuerEvent,
  OperatorEvent,
  RequestEvent,
  WorldEvent,
  WorldPlan,
} from '../simulation/events.ts';
import {
  accountOf,
  eachAccount,
  leavingAccount,
  movingAccount,
  slowKey,
  wholeAccount,
} from '../simulation/accounts.ts';
import { requestOf } from '../simulation/make-plan.ts';
import { vectorRequests } from '../simulation/vectors.ts';
import { one, type Rarity, rareRequest } from '../simulation/rare-events.ts';

type Untimed<Event> = Event extends unknown ? Omit<Event, 'at'> : never;

/** What happens beside the requests of a plan: the event, and after which share of the requests. */
export type Happening = readonly [share: number, event: Untimed<OperatorEvent | FaultEvent | IssuerEvent>];

const usual: readonly Rarity[] = [
  ...(['other-continuations', 'one-choice-capped', 'tight-limits'] as const),
  ...(['long-budgets', 'ending-keys', 'unknown-keys'] as const),
];

/** Most requests come with a key whose money lasts. */
const richShare = 0.7;
const richKeys = [0, 2] as const;
const richAccounts = [movingAccount, leavingAccount, leavingAccount + 1] as const;

/** Answers that are whole and written otherwise: their callers and their bills see no difference. */
const bents: readonly BehaviourInput[] = [
  ...([
    { roleChunk: 'null-content' },
    { emptyChunks: true },
    { usage: 'null-details' },
    { lineEnding: 'crlf' },
  ] as const),
  ...([{ multilineData: true }, { chunkBytes: 7 }, { eventsPerWrite: 5 }, { gzip: true }] as const),
];
const errorBodies = [
  ...(['engine', 'flat', 'detail', 'string', 'array', 'text', 'html', 'empty', 'not-json'] as const),
] as const;
/** Too much to be read on the event loop. */
const large = { filler: 'x'.repeat(200_000) };

/** A request with what only matters where bytes cross real connections and threads. */
function onTheWire(event: RequestEvent, chance: Chance): RequestEvent {
  const { directive } = event;
  const fields = chance() < 0.01 ? { fields: large } : {};
  if (directive?.status !== undefined)
    return { ...event, ...fields, directive: { ...directive, errorBody: one(errorBodies, chance) } };
  if (directive?.fault !== undefined || directive?.usage !== undefined || chance() > 0.2)
    return { ...event, ...fields };
  return { ...event, ...fields, directive: { ...directive, ...one(bents, chance) } };
}

/** A service knows of a new identity after a second at most. */
const newIdentityMs = 1_200;

/** When so many requests come at once that one key is above its rate, as shares of all. */
const bursts = [0.22, 0.57, 0.72] as const;
const burst = 24;

/** So many requests come at once with tokens of an identity with a budget of about one answer, and of a subject with one. */
const atOnce = 64;
const tokenBursts = [
  [0.02, wholeAccount],
  [0.16, eachAccount],
] as const;

/** What happens to identities. */
const ofIdentities: readonly Happening[] = [
  [0.33, { kind: 'issuer', change: 'rotates' }],
  [0.52, { kind: 'payer', key: movingAccount, workspace: 5 }],
  [0.64, { kind: 'budget', key: wholeAccount, picoUsd: '9000000000' }],
  [0.83, { kind: 'key-status', key: leavingAccount, status: 'revoked' }],
];

/** What operators change in each plan, besides its own events. */
const operations: readonly Happening[] = [
  [0.1, { kind: 'correction', workspace: 0, share: 0.5, forMs: 1_000 }],
  [0.15, { kind: 'key-status', key: 6, status: 'revoked' }],
  [0.2, { kind: 'expiry', key: 10, inMs: 2_000 }],
  [0.25, { kind: 'key-status', key: 5, status: 'suspended' }],
  [0.35, { kind: 'credit', workspace: 2, picoUsd: '4000000000' }],
  [0.4, { kind: 'prices', factor: 3 }],
  [0.5, { kind: 'correction', workspace: 1, share: 1, forMs: 500 }],
  [0.55, { kind: 'key-status', key: 5, status: 'active' }],
  [0.6, { kind: 'workspace-status', workspace: 3, status: 'suspended' }],
  [0.7, { kind: 'workspace-status', workspace: 3, status: 'active' }],
  [0.75, { kind: 'prices', factor: 1, window: 'narrow' }],
  [0.85, { kind: 'prices', factor: 2 }],
];

const isRequest = (event: WorldEvent): event is RequestEvent => event.kind === 'request';

/** A plan for real processes: what the simulation draws requests from, at a pace that two cores keep, and events at set shares of it. */
export function makeRealPlan({
  seed,
  requests,
  services,
  perSecond,
  happens,
  firstId = 1,
  identities = false,
}: {
  readonly seed: number;
  readonly requests: number;
  readonly services: number;
  readonly perSecond: number;
  readonly happens: readonly Happening[];
  /** Two plans on the same gateways must not have a number twice. */
  readonly firstId?: number;
  /** Whether some requests come with tokens in place of keys. */
  readonly identities?: boolean;
}): WorldPlan {
  const chance = seededChance(seed);
  const rare: ReadonlySet<Rarity> = new Set([...usual, ...(identities ? (['identities'] as const) : [])]);
  const rich = [...richKeys, ...(identities ? richAccounts : [])];
  const from = { chance, served: chatSurfaces, rare };
  const events: WorldEvent[] = [];
  const last = firstId + requests;
  let at = 0;
  for (let id = firstId; id < last; id += 1) {
    const isInBurst = bursts.some((share) => Math.abs(id - firstId - share * requests) < burst / 2);
    at += isInBurst ? 1 : (chance() * 2_000) / perSecond;
    const drawn = requestOf(id, at, from);
    const key = isInBurst ? slowKey : chance() < richShare ? one(rich, chance) : drawn.key;
    const isTooSoon = accountOf(key) !== undefined && at < newIdentityMs;
    events.push({ ...onTheWire(rareRequest(drawn, rare, chance), chance), key: isTooSoon ? richKeys[0] : key });
  }
  const ofTexts = vectorRequests(
    seed,
    events.filter(isRequest),
    (id, when, drawnBy) => requestOf(id, when, { ...from, chance: drawnBy }),
    {
      ...{ oneFor: 5, withRanks: true },
    },
  );
  events.push(...ofTexts.map((event) => ({ ...event, key: chance() < richShare ? one(richKeys, chance) : event.key })));
  for (const [share, key] of identities ? tokenBursts : [])
    for (let number = 0; number < atOnce; number += 1)
      events.push({ ...requestOf(last + events.length, share * at, from), key, choices: 1, leavesAfterMs: undefined });
  for (const [share, event] of [...operations, ...(identities ? ofIdentities : []), ...happens])
    events.push({ ...event, at: share * at });
  return {
    ...{
      seed,
      services,
      hours: 1,
      valkey: services > 1,
      responses: true,
      searchProvider: 'none',
      startsAt: Date.now(),
      identities,
    },
    events: events.toSorted((first, second) => first.at - second.at),
  };
}
