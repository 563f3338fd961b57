import type { BehaviourInput } from '../../../programmable-engine/behaviour.ts';
import type { Chance } from '../../../support/chance.ts';

/** With which of the storm's keys a request is made. */
export type StormKey = 'rich' | 'narrow' | 'broke' | 'suspended' | 'expiring' | 'limited' | 'none';

/** When its caller hangs up: after so long, once the answer holds so many pieces of text, or once it says that it is finished. */
export type Leaving =
  | { readonly kind: 'after'; readonly ms: number }
  | { readonly kind: 'pieces'; readonly count: number }
  | { readonly kind: 'finished' };

/** One request to be made. */
export interface StormRequest {
  /** Names the kind in reports. */
  readonly kind: string;
  /** Default: chat completions. */
  readonly surface?: 'messages' | 'responses';
  readonly model: string;
  readonly stream: boolean;
  readonly includeUsage: boolean;
  readonly key: StormKey;
  readonly directives: BehaviourInput;
  /** Of the body, in place of the usual ones. */
  readonly fields?: Readonly<Record<string, unknown>>;
  /** Content behind the text of the prompt. */
  readonly parts?: readonly object[];
  /** Sent in place of a body made of all this. */
  readonly rawBody?: string;
  readonly leaving?: Leaving;
  /** Statuses that it may get, besides 503 while the service is away. */
  readonly statuses: readonly number[];
}

export interface StormKind {
  /** How many of a thousand requests of a money storm are of it; of others, its weight. */
  readonly share: number;
  readonly make: (chance: Chance) => Partial<Omit<StormRequest, 'kind'>>;
}

/** Each has routes of its own, so that what is broken on one model is not held against the routes of another. */
export const stormModels = {
  // The engine counts while it streams, or only at the end, or its routes are broken in different ways.
  steady: 'storm/steady',
  late: 'storm/late',
  hedged: 'storm/hedged',
  failing: 'storm/failing',
  broken: 'storm/broken',
  slow: Array.from({ length: 12 }, (_, index) => `storm/slow-${index}`),
} as const;

const usual = (chance: Chance): string =>
  chance.pick([stormModels.steady, stormModels.late, stormModels.hedged, stormModels.failing]);
const counting = (chance: Chance): string => chance.pick([stormModels.steady, stormModels.late]);
const some = (chance: Chance): BehaviourInput => ({ words: 2 + chance.below(12) });
const onOne = (chance: Chance): { readonly on: readonly string[] } => ({ on: [chance.pick(['alpha', 'beta'])] });

/** The usage comes long after the last of the text, and the end of it. */
const heldUsage: BehaviourInput = { content: 'One two three four', stallAfterEvents: 6, stallMs: 60_000 };

/** What a money storm is made of. */
export const stormKinds = {
  'whole answer': { share: 180, make: (chance) => ({ model: usual(chance), stream: false }) },
  stream: { share: 210, make: (chance) => ({ model: usual(chance) }) },
  'stream without usage': { share: 50, make: (chance) => ({ model: usual(chance), includeUsage: false }) },
  'nothing counted': {
    share: 20,
    make: (chance) => ({ stream: chance.is(0.5), directives: { ...some(chance), usage: 'absent' } }),
  },
  'counted as zero': {
    share: 10,
    make: (chance) => ({ stream: chance.is(0.5), directives: { ...some(chance), usage: 'zeros' } }),
  },
  refusal: {
    share: 40,
    make: (chance) => ({
      stream: chance.is(0.5),
      directives: { ...some(chance), refusal: chance.pick(['field', 'content-filter', 'both']) },
    }),
  },
  hedged: {
    share: 20,
    make: (chance) => ({
      model: stormModels.hedged,
      directives: { ...some(chance), on: ['alpha'], firstTokenDelayMs: 1_500 },
    }),
  },
  'failed over at once': {
    share: 50,
    make: (chance) => ({
      model: stormModels.failing,
      stream: chance.is(0.5),
      directives: { ...some(chance), ...onOne(chance), ...chance.pick([{ status: 503 }, { cutAfterEvents: 0 }]) },
    }),
  },
  'failed over in mid-stream': {
    share: 60,
    make: (chance) => ({
      model: stormModels.failing,
      directives: { words: 30, ...onOne(chance), cutAfterEvents: 2 + chance.below(12) },
    }),
  },
  interrupted: {
    share: 40,
    make: (chance) => ({
      model: stormModels.broken,
      directives: { words: 90, cutAfterEvents: 2 + chance.below(8) },
      statuses: [200, 502, 503],
    }),
  },
  incomplete: {
    share: 6,
    make: (chance) => ({
      model: chance.pick(stormModels.slow),
      stream: false,
      directives: { headersDelayMs: 1_300, cutAfterEvents: 0 },
      statuses: [200, 502, 503],
    }),
  },
  'no route serves it': {
    share: 24,
    make: (chance) => ({
      model: stormModels.broken,
      stream: chance.is(0.5),
      directives: { status: 500 },
      // 200 where it took so long that the answer was begun to keep its caller.
      statuses: [200, 502, 503],
    }),
  },
  'cancelled before the first byte': {
    share: 70,
    make: (chance) => ({
      model: counting(chance),
      stream: chance.is(0.6),
      directives: { ...some(chance), firstTokenDelayMs: 400 },
      leaving: { kind: 'after', ms: chance.below(80) },
    }),
  },
  'cancelled in mid-stream': {
    share: 60,
    make: (chance) => ({
      model: counting(chance),
      directives: { words: 60, tokenDelayMs: 8 },
      leaving: { kind: 'pieces', count: 1 + chance.below(6) },
    }),
  },
  'cancelled before the usage': {
    share: 60,
    make: (chance) => ({
      model: counting(chance),
      directives: heldUsage,
      leaving: { kind: 'finished' },
    }),
  },
  'not a request': {
    share: 20,
    make: (chance) => ({ rawBody: chance.pick(['{"model": ', '[]', '{"messages": []}']), statuses: [400] }),
  },
  'no such model': { share: 15, make: () => ({ model: 'storm/nowhere', statuses: [400] }) },
  'without a key': { share: 10, make: () => ({ key: 'none', statuses: [401] }) },
  'without money': { share: 10, make: () => ({ key: 'broke', statuses: [402] }) },
  'of a suspended key': { share: 5, make: () => ({ key: 'suspended', statuses: [403] }) },
  // It expires a while after the storm has begun.
  'of a key that expires': { share: 20, make: () => ({ key: 'expiring', statuses: [200, 401] }) },
  'of a model its key may not call': {
    share: 10,
    make: () => ({ key: 'limited', model: stormModels.late, statuses: [400] }),
  },
  'above the rate': { share: 10, make: () => ({ key: 'narrow', statuses: [200, 429] }) },
} as const satisfies Readonly<Record<string, StormKind>>;

export type StormKindName = keyof typeof stormKinds;

/** The requests of one storm, in the order in which they are made. The same chance gives the same. */
export function stormRequests(
  count: number,
  chance: Chance,
  kinds: Readonly<Record<string, StormKind>> = stormKinds,
): readonly StormRequest[] {
  const lots = Object.entries(kinds).flatMap((entry) => Array.from({ length: entry[1].share }, () => entry));
  return Array.from({ length: count }, () => {
    const [kind, { make }] = chance.pick(lots);
    const made = make(chance);
    const model = made.model ?? stormModels.steady;
    return {
      ...{ stream: true, includeUsage: true, key: 'rich', directives: some(chance) },
      // Where every tenth answer breaks, the other route may be out just then.
      statuses: model === stormModels.failing ? [200, 502] : [200],
      ...made,
      ...{ kind, model },
    };
  });
}
