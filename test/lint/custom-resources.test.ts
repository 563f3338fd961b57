import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { placeOf } from '../../src/control/kubernetes/objects.ts';
import {
  customResourceDefinition,
  customResources,
  type OpenApiSchema,
  openApiSchema,
} from '../../scripts/custom-resources/custom-resources.ts';

/** At least three words, from a capital letter or a quoted name to a full stop. */
const sentence = /^["A-Z\d`].*\S+\s+\S+\s+\S.*\.$/s;

/** The fields below a schema whose description is missing or no sentence, by path. `[]` stands for every entry of a list. */
function undescribed({ properties = {}, items }: OpenApiSchema, path = ''): readonly string[] {
  const ofFields = Object.entries(properties).flatMap(([name, schema]) => {
    const here = path === '' ? name : `${path}.${name}`;
    return [...(sentence.test(schema.description ?? '') ? [] : [here]), ...undescribed(schema, here)];
  });
  return [...ofFields, ...(items === undefined ? [] : undescribed(items, `${path}[]`))];
}

/** The schema that `kubectl explain` reads. The API server itself describes these three fields. */
function explained(resource: (typeof customResources)[number]): OpenApiSchema {
  const { spec } = customResourceDefinition(resource) as {
    readonly spec: { readonly versions: readonly { readonly schema: { readonly openAPIV3Schema: OpenApiSchema } }[] };
  };
  const [{ schema } = { schema: { openAPIV3Schema: {} } }] = spec.versions;
  const { apiVersion: _, kind: _kind, metadata: _metadata, ...properties } = schema.openAPIV3Schema.properties ?? {};
  return { ...schema.openAPIV3Schema, properties };
}

describe.each(customResources)('$kind', (resource) => {
  test('describes itself and each of its fields in a sentence or more, for kubectl explain', () => {
    const schema = explained(resource);
    expect(Object.keys(schema.properties ?? {})).toEqual(['spec', 'status']);
    expect(schema.description).toMatch(sentence);
    expect(undescribed(schema)).toEqual([]);
  });

  test('describes each of its columns in a sentence', () => {
    expect(resource.columns.filter(({ description }) => !/^[A-Z].*\s.*\.$/.test(description))).toEqual([]);
  });
});

/** The fields of lists that have a default. */
function defaultsInLists(
  { properties = {}, items, ...schema }: OpenApiSchema,
  path = '',
  inList = false,
): readonly string[] {
  return [
    ...(inList && 'default' in schema ? [path] : []),
    ...Object.entries(properties).flatMap(([name, inner]) => defaultsInLists(inner, `${path}.${name}`, inList)),
    ...(items === undefined ? [] : defaultsInLists(items, `${path}[]`, true)),
  ];
}

test.each(customResources)(
  '$kind has no default inside a list, which Argo CD would show as a difference for ever',
  (resource) => {
    expect(defaultsInLists(explained(resource))).toEqual([]);
  },
);

test.each(customResources)(
  'the service finds the objects of each kind where its CRD has them: $plural',
  ({ kind, plural }) => {
    expect(placeOf(kind, 'team').plural).toBe(plural);
  },
);

test('finds a default inside a list, and inside a group of a list', () => {
  const schema: OpenApiSchema = {
    properties: {
      a: { default: 1 },
      list: { items: { properties: { b: { default: 2 }, c: { properties: { d: { default: {} } } } } } },
    },
  };
  expect(defaultsInLists(schema)).toEqual(['.list[].b', '.list[].c.d']);
});

test('finds a field without a description, with a word in place of a sentence, and inside a list', () => {
  const schema = z.strictObject({
    good: z.string().meta({ description: 'Name of the Secret.' }),
    none: z.string(),
    word: z.string().meta({ description: 'Name' }),
    open: z.string().meta({ description: 'Name of the Secret' }),
    list: z.array(z.strictObject({ inner: z.int() })).meta({ description: 'The ports of the engine. Default: none.' }),
  });
  expect(undescribed(openApiSchema(schema))).toEqual(['none', 'word', 'open', 'list[].inner']);
});
