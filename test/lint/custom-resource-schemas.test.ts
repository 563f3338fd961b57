import { expect, test } from 'vitest';
import type * as z from 'zod';
import { openApiSchema } from '../../scripts/custom-resources/custom-resources.ts';
import { backendSpec } from '../../src/control/catalog/resources/backend.ts';
import { modelSpec } from '../../src/control/catalog/resources/model.ts';
import { backendStatus, modelStatus } from '../../src/control/catalog/resources/status.ts';

type Node = Readonly<Record<string, unknown>>;

const kinds: readonly (readonly [string, z.ZodType])[] = [
  ['Backend', backendSpec],
  ['Model', modelSpec],
  ['the status of a Backend', backendStatus],
  ['the status of a Model', modelStatus],
];

/** Every schema inside, with the path of its field. */
function* nodes(node: Node, path: string): Generator<readonly [string, Node]> {
  yield [path, node];
  for (const [name, child] of Object.entries((node['properties'] ?? {}) as Record<string, Node>)) {
    yield* nodes(child, `${path}.${name}`);
  }
  if (node['items'] !== undefined) yield* nodes(node['items'] as Node, `${path}[]`);
}

function openApi(schema: z.ZodType): readonly (readonly [string, Node])[] {
  return [...nodes(openApiSchema(schema), 'spec')];
}

/** Keywords that zod writes and a structural schema of an API server may hold. */
const allowed = new Set([
  ...['type', 'properties', 'required', 'items', 'enum', 'default', 'description', 'example', 'format', 'pattern'],
  ...['minimum', 'maximum', 'exclusiveMinimum', 'minLength', 'maxLength', 'minItems', 'maxItems'],
  ...['x-kubernetes-validations', 'x-kubernetes-list-type', 'x-kubernetes-list-map-keys'],
  'x-kubernetes-int-or-string',
]);

/** The types that a schema takes: one, or the two of Kubernetes' IntOrString. */
const typesOf = (node: Node): readonly unknown[] =>
  node['x-kubernetes-int-or-string'] === true ? ['integer', 'string'] : [node['type']];

test.each(kinds)('%s becomes a structural OpenAPI schema', (_kind, schema) => {
  for (const [path, node] of openApi(schema)) {
    expect(
      Object.keys(node).filter((key) => !allowed.has(key)),
      path,
    ).toEqual([]);
    for (const type of typesOf(node))
      expect(['object', 'array', 'string', 'integer', 'number', 'boolean'], path).toContain(type);
  }
});

test.each(kinds)('%s bounds every whole number, text and list', (_kind, schema) => {
  const bounds: Readonly<Record<string, readonly string[]>> = {
    integer: ['minimum', 'maximum'],
    number: ['minimum', 'maximum'],
    string: ['maxLength'],
    array: ['maxItems'],
  };
  for (const [path, node] of openApi(schema)) {
    if (node['enum'] !== undefined) continue;
    for (const bound of typesOf(node).flatMap((type) => bounds[String(type)] ?? []))
      expect(node[bound], `${path} ${bound}`).toBeTypeOf('number');
  }
});

test.each(kinds)('%s describes every field, and gives an example of every one that holds a value', (_kind, schema) => {
  for (const [path, node] of openApi(schema)) {
    if (path === 'spec' || path.endsWith('[]')) continue;
    expect(node['description'], path).toBeTypeOf('string');
    const isListOfGroups = (node['items'] as Node | undefined)?.['type'] === 'object';
    if (node['type'] !== 'object' && !isListOfGroups) expect(node['example'], path).toBeDefined();
  }
});

test.each(kinds)('%s has patterns that Go understands: no look-around, no back-references', (_kind, schema) => {
  for (const [path, node] of openApi(schema))
    expect(JSON.stringify(node['pattern'] ?? ''), path).not.toMatch(/\(\?[=!<]|\\[1-9]/);
});

test.each(kinds)('%s has examples that its own rules accept', (_kind, schema) => {
  const refused = openApi(schema).filter(([, { example, pattern, enum: values }]) => {
    if (typeof pattern === 'string' && typeof example === 'string') return !new RegExp(pattern).test(example);
    return Array.isArray(values) && example !== undefined && !values.includes(example);
  });
  expect(refused).toEqual([]);
});
