import * as z from 'zod';

const readable = z.object({
  type: z.union([z.string(), z.array(z.string())]).optional(),
  const: z.unknown().optional(),
  enum: z.array(z.unknown()).min(1).optional(),
  anyOf: z.array(z.unknown()).min(1).optional(),
  $ref: z.string().optional(),
  properties: z.record(z.string(), z.unknown()).optional(),
  items: z.unknown().optional(),
});

const maxDepth = 12;

/** A small value that a JSON Schema allows. Knows the keywords that decide its form, and no bounds. */
export function sampleJson(schema: unknown, text: string): unknown {
  return sample(schema, { root: schema, text, depth: 0 });
}

interface Place {
  readonly root: unknown;
  readonly text: string;
  readonly depth: number;
}

function sample(schema: unknown, place: Place): unknown {
  const known = readable.safeParse(schema).data;
  if (known === undefined || place.depth > maxDepth) return null;
  const inner = { ...place, depth: place.depth + 1 };
  if (known.const !== undefined) return known.const;
  if (known.enum !== undefined) return known.enum[0];
  if (known.$ref !== undefined) return sample(pointedAt(known.$ref, place.root), inner);
  const [option] = known.anyOf ?? [];
  if (option !== undefined) return sample(option, inner);
  const [type = known.properties === undefined ? 'string' : 'object'] = [known.type ?? []].flat();
  switch (type) {
    case 'object':
      return Object.fromEntries(Object.entries(known.properties ?? {}).map(([name, of]) => [name, sample(of, inner)]));
    case 'array':
      return [sample(known.items, inner)];
    case 'integer':
    case 'number':
      return 1;
    case 'boolean':
      return true;
    case 'null':
      return null;
    default:
      return place.text;
  }
}

/** What `#/$defs/name` points at. */
function pointedAt(pointer: string, root: unknown): unknown {
  return pointer
    .split('/')
    .slice(1)
    .reduce<unknown>((at, key) => z.record(z.string(), z.unknown()).safeParse(at).data?.[key], root);
}
