import { type Chance, chanceFrom } from '../../../support/chance.ts';
import { type HostileBody, hostileBodies } from './hostile-bodies.ts';
import { anyValues, mutate } from './mutate.ts';
import { optionalFields, validBody } from './valid-body.ts';

export interface FuzzBody extends HostileBody {
  /** Enough to make it again. */
  readonly seed: number;
}

const written = (body: object): Buffer => Buffer.from(JSON.stringify(body));

/** Every field with a value of every type, the same each time. */
const fieldsByType = ['model', 'messages', ...optionalFields].flatMap((field) =>
  anyValues.map((value) => ({ field, value })),
);

function mutated(chance: Chance, models: readonly string[]): Buffer {
  const body = validBody(chance, models);
  for (let left = chance.below(3) + 1; left > 0; left -= 1) mutate(body, chance);
  const bytes = written(body);
  if (chance.is(0.85)) return bytes;
  // Broken as text, not as a value.
  const cut = chance.below(bytes.length);
  if (chance.is(0.5)) return bytes.subarray(0, cut);
  bytes[cut] = chance.below(256);
  return bytes;
}

/** So many request bodies: the hostile ones, every field by every type, and the rest valid or mutated from valid. */
export function fuzzBodies(count: number, models: readonly string[], firstSeed: number): readonly FuzzBody[] {
  const bodies = Array.from({ length: count }, (_, index): FuzzBody => {
    const seed = firstSeed + index;
    const chance = chanceFrom(seed);
    const hostile = hostileBodies[index];
    if (hostile !== undefined) return { ...hostile, seed };
    const byType = fieldsByType[index - hostileBodies.length];
    if (byType !== undefined) {
      const { field, value } = byType;
      const body = { ...validBody(chance, models), [field]: value };
      return { seed, name: `${field}: ${JSON.stringify(value).slice(0, 40)}`, bytes: written(body) };
    }
    if (chance.is(0.4)) return { seed, name: 'valid', bytes: written(validBody(chance, models)) };
    return { seed, name: 'mutated', bytes: mutated(chance, models) };
  });
  // Shuffled, so that costly ones stand among cheap ones.
  const order = chanceFrom(firstSeed);
  return bodies
    .map((body) => ({ body, place: order.next() }))
    .toSorted((a, b) => a.place - b.place)
    .map(({ body }) => body);
}
