import type { ChatSurface } from '../../src/core/dialect.ts';
import type { BehaviourInput } from '../programmable-engine/behaviour.ts';
import { type Chance, seededChance } from '../programmable-engine/chance.ts';
import type { FaultPosition } from '../programmable-engine/fault-position.ts';
import { type BackendsLike, enginesOf } from './catalog.ts';
import type { RequestEvent, WorldEvent, WorldPlan } from './events.ts';

const engines = enginesOf.map(({ name }) => name);
const allFaults = [
  ...(['cut', 'reset', 'truncate', 'end', 'stall'] as const),
  ...(['error', 'error-then-done', 'error-then-cut', 'malformed-then-cut'] as const),
];
/** No stream of a sweep has more events, and few are longer. */
const maxEvents = 26;
const maxBytes = 5_000;
const bytePlaces = 6;
/** In the middle of most answers. */
const aloneEvents = 12;
const traces = ['plain', 'summary', 'sealed'] as const;

/** A form of an answer. `manners`: how every engine writes it. */
export interface SweepShape
  extends
    Pick<RequestEvent, 'surface' | 'ask' | 'model' | 'choices' | 'stream'>,
    Partial<Pick<RequestEvent, 'words' | 'maxTokens' | 'fields'>> {
  readonly manners?: BehaviourInput;
}

/** Every form of an answer of a surface. */
export function shapesOf(surface: ChatSurface): readonly SweepShape[] {
  const asked = [
    ...(['text', 'tools', 'schema'] as const).map((ask) => ({ ask, choices: 1 })),
    ...(surface === 'chat' ? [{ ask: 'text' as const, choices: 3 }] : []),
  ];
  return asked.flatMap((one) =>
    (['tiny', 'thinker'] as const).flatMap((model) =>
      [true, false].map((stream) => ({ ...one, surface, model, stream })),
    ),
  );
}

/** Every boundary between events and some bytes; an answer in one piece has but a middle. */
function placesOf({ stream }: SweepShape, chance: Chance): readonly FaultPosition[] {
  const heads = ['before-headers', 'after-headers'] as const;
  if (!stream) return [...heads, { events: 1 }];
  return [
    ...heads,
    ...Array.from({ length: maxEvents }, (_, index) => ({ events: index + 1 })),
    ...Array.from({ length: bytePlaces }, () => ({ bytes: 1 + Math.floor(chance() * maxBytes) })),
  ];
}

type SweepFault = (typeof allFaults)[number];

interface SweepOptions {
  readonly seed: number;
  /** All unless told. */
  readonly faults?: readonly SweepFault[];
  readonly oneOf: number;
  /** Between two requests. */
  readonly everyMs?: number;
  /** Whether all engines break for some requests, so that nobody goes on with the answer. */
  readonly alone?: boolean;
  readonly backends?: BackendsLike;
}

/**
 * A world without other troubles, in which an answer of each form breaks by each fault at one of `oneOf` places. Each case comes once for
 * each engine that may break, because one of them is asked first.
 */
export function makeSweep(
  shapes: readonly SweepShape[],
  { seed, oneOf, faults = allFaults, everyMs = 60, alone = true, backends }: SweepOptions,
): WorldPlan {
  const chance = seededChance(seed);
  const requests: RequestEvent[] = [];
  const ask = (
    { manners, ...shape }: SweepShape,
    fault: SweepFault,
    at: FaultPosition,
    on: readonly string[],
  ): void => {
    const id = requests.length + 1;
    requests.push({
      ...{ kind: 'request', at: 2_000 + id * everyMs, id, key: id % 2 === 0 ? 0 : 2, service: 0 },
      ...{ includeUsage: true, words: 9, maxTokens: undefined, topic: id % 12, search: undefined },
      ...shape,
      directive: { ...manners, on, fault, at, times: 1 },
      trace: shape.surface === 'responses' ? traces[id % traces.length] : undefined,
      ...{ leavesAfterMs: undefined, readsPerMs: undefined },
    });
  };
  for (const shape of shapes) {
    for (const fault of faults) {
      const first = Math.floor(chance() * oneOf);
      for (const [index, place] of placesOf(shape, chance).entries()) {
        if (shape.stream && index % oneOf !== first) continue;
        for (const engine of engines) ask(shape, fault, place, [engine]);
      }
      if (alone) ask(shape, fault, { events: 1 + Math.floor(chance() * aloneEvents) }, engines);
    }
  }
  const credits = [0, 1].map((workspace): WorldEvent => ({
    kind: 'credit',
    at: 500,
    workspace,
    picoUsd: String(10n ** 15n),
  }));
  return {
    ...{ seed, hours: 0.01, services: 1, valkey: false, responses: true, searchProvider: 'none' },
    ...{ startsAt: Date.UTC(2026, 5, 1, 10), events: [...credits, ...requests] },
    ...(backends === undefined ? {} : { backends }),
  };
}
