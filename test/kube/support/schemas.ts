import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KubeConnection } from './api-server.ts';
import { kubeRequest } from './request.ts';
import { kubeTool } from './tools.ts';

type Json = { readonly [key: string]: unknown };

interface Kind {
  readonly group: string;
  readonly kind: string;
  readonly version: string;
}

export interface Schemas {
  /** What kubeconform says of a stream of YAML; empty where it finds nothing. */
  readonly check: (manifest: string) => Promise<string>;
  readonly remove: () => void;
}

/** The schemas of every kind that the API server knows, made strict: a field that is not there is a fault. */
export async function schemasOf(connection: KubeConnection): Promise<Schemas> {
  const { body } = await kubeRequest(connection, 'GET', '/openapi/v2');
  const { definitions } = body as { readonly definitions: Readonly<Record<string, Json>> };
  const folder = mkdtempSync(join(tmpdir(), 'weir-schemas-'));
  const put = (name: string, schema: unknown): void => writeFileSync(join(folder, name), JSON.stringify(schema));
  const strict = new Map(
    Object.entries({ ...definitions, ...scalars }).map(([name, schema]) => [name, closed(schema)] as const),
  );
  for (const [name, schema] of Object.entries(definitions)) {
    const kinds = (schema['x-kubernetes-group-version-kind'] ?? []) as readonly Kind[];
    // Those of many kinds are options of calls.
    const [kind] = kinds;
    if (kind === undefined || kinds.length > 1) continue;
    const suffix = [kind.group.split('.')[0], kind.version].filter((part) => part !== '').join('-');
    // Each kind with no definitions but its own: kubeconform reads those of all kinds in a second of processor time, at each run.
    put(`${kind.kind.toLowerCase()}-${suffix}.json`, {
      ...{ $ref: `${reference}${name}`, definitions: reachable(name, strict) },
    });
  }
  const parameters = ['-strict', '-schema-location', `${folder}/{{.ResourceKind}}{{.KindSuffix}}.json`, '-'];
  return {
    check: (manifest) =>
      new Promise((resolve) => {
        const child = execFile(kubeTool('kubeconform'), parameters, (error, stdout, stderr) =>
          resolve(error === null ? '' : `${stdout}${stderr}`),
        );
        child.stdin?.end(manifest);
      }),
    remove: () => rmSync(folder, { recursive: true }),
  };
}

/** Two that OpenAPI 2 cannot describe. */
const scalars = {
  'io.k8s.apimachinery.pkg.util.intstr.IntOrString': { oneOf: [{ type: 'string' }, { type: 'integer' }] },
  'io.k8s.apimachinery.pkg.api.resource.Quantity': { oneOf: [{ type: 'string' }, { type: 'number' }] },
};

const reference = '#/definitions/';

/** The definition of this name, and those that it refers to, directly or not. */
function reachable(name: string, definitions: ReadonlyMap<string, unknown>): Readonly<Record<string, unknown>> {
  const found: Record<string, unknown> = {};
  const look = (at: unknown): void => {
    if (typeof at !== 'object' || at === null) return;
    for (const [key, value] of Object.entries(at)) {
      if (key === '$ref' && typeof value === 'string') add(value.slice(reference.length));
      else look(value);
    }
  };
  const add = (wanted: string): void => {
    if (wanted in found) return;
    found[wanted] = definitions.get(wanted);
    look(found[wanted]);
  };
  add(name);
  return found;
}

function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const inner = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, closed(value)]));
  const isOpen =
    !('properties' in schema) ||
    'additionalProperties' in schema ||
    ('x-kubernetes-preserve-unknown-fields' in schema && schema['x-kubernetes-preserve-unknown-fields'] === true);
  // A CRD's own `properties` may hold one that is called "properties"; that one is no schema with a type.
  return isOpen || typeof inner['properties'] !== 'object' ? inner : { ...inner, additionalProperties: false };
}
