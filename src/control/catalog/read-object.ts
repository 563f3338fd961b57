import type * as z from 'zod';
import type { CatalogObject, CatalogProblem } from '../../core/catalog.ts';
import { isObject } from '../../core/json.ts';
import { fieldPath } from '../../core/failure.ts';
import { didYouMean } from '../../core/near-name.ts';
import { expectation, faultsOf, type SchemaFault } from '../core/schema-faults.ts';
import { apiKeySchema, creditSchema, identitySchema, workspaceSchema } from './resources/accounts.ts';
import { backendSchema } from './resources/backend.ts';
import { maxRoutes, type ModelResource, modelSchema } from './resources/model.ts';
import { configMapSchema, secretSchema } from './resources/secret.ts';

/** The value of an object that passed its schema, and the object itself, for messages to its author. */
export interface Read<Value> {
  readonly object: CatalogObject;
  readonly value: Value;
}

/** A Model, perhaps without some of its routes. `routeIndexes` has the places of its routes in the author's list. */
interface ReadModel extends Read<ModelResource> {
  readonly routeIndexes: readonly number[];
}

/** The schemas of the kinds that are read as a whole: one fault refuses the object. */
const schemas = {
  Backend: backendSchema,
  Secret: secretSchema,
  ConfigMap: configMapSchema,
  Workspace: workspaceSchema,
  ApiKey: apiKeySchema,
  Credit: creditSchema,
  Identity: identitySchema,
};
type WholeKind = keyof typeof schemas;

interface Values extends Record<'Model', ReadModel>, WholeValues {}
type WholeValues = { readonly [Kind in WholeKind]: Read<z.output<(typeof schemas)[Kind]>> };

export type ReadResult = { readonly problems: readonly CatalogProblem[] } & (
  | { [Kind in keyof Values]: { readonly kind: Kind; readonly read: Values[Kind] } }[keyof Values]
  | { readonly kind: 'bad'; readonly object: CatalogObject }
);

type Kind = Exclude<ReadResult['kind'], 'bad'>;

/** Each object is checked once: an object never changes, and most stay from one snapshot to the next. */
const results = new WeakMap<CatalogObject, ReadResult>();

/** Checks one object against the schema of its kind. Never throws. A Model keeps its valid routes. */
export function readObject(object: CatalogObject): ReadResult {
  return results.getOrInsertComputed(object, () => read(object));
}

/** The problems of one object by itself; `compile` finds the problems of its references. Never throws. */
export function checkObject(object: CatalogObject): readonly CatalogProblem[] {
  return readObject(object).problems;
}

const kindsByVersion: ReadonlyMap<unknown, readonly Kind[]> = new Map<unknown, readonly Kind[]>([
  ['weir.dev/v1alpha1', ['Backend', 'Model', 'Workspace', 'ApiKey', 'Credit', 'Identity']],
  ['v1', ['Secret', 'ConfigMap']],
]);

function read(object: CatalogObject): ReadResult {
  const bad = (faults: readonly SchemaFault[]): ReadResult => ({
    kind: 'bad',
    object,
    problems: problemsIn(object, faults),
  });
  const { value } = object;
  if (!isObject(value))
    return bad([{ path: [], message: 'expected an object with apiVersion, kind, metadata and spec' }]);
  const kinds = kindsByVersion.get(value['apiVersion']);
  if (kinds === undefined) {
    return bad([{ path: ['apiVersion'], message: 'expected "weir.dev/v1alpha1" or "v1" (Secret, ConfigMap)' }]);
  }
  const kind = kinds.find((name) => name === value['kind']);
  const meant = typeof value['kind'] === 'string' ? didYouMean(value['kind'], kinds) : '';
  if (kind === undefined) {
    return bad([{ path: ['kind'], message: `expected ${kinds.join(' or ')} with this apiVersion${meant}` }]);
  }
  if (kind === 'Model') {
    const parsed = parseModel(value);
    if (parsed.value === undefined) return bad(parsed.faults);
    const read = { object, value: parsed.value, routeIndexes: parsed.routeIndexes };
    return { kind, read, problems: problemsIn(object, parsed.faults) };
  }
  const parsed = parse(schemas[kind], value);
  if (!parsed.ok) return bad(parsed.faults);
  // oxlint-disable-next-line typescript/consistent-type-assertions -- the schema is that of the kind
  return { kind, read: { object, value: parsed.value }, problems: [] } as ReadResult;
}

type Parsed<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly faults: readonly SchemaFault[] };

function parse<Schema extends z.ZodType>(schema: Schema, value: unknown): Parsed<z.output<Schema>> {
  const first = schema.safeParse(value, { error: expectation });
  if (first.success) return { ok: true, value: first.data };
  const rest = withoutEmptyFields(value, first.error);
  const second = rest === undefined ? first : schema.safeParse(rest, { error: expectation });
  return second.success ? { ok: true, value: second.data } : { ok: false, faults: faultsOf(second.error) };
}

/**
 * Removes the fields of the spec that are null (`tls:` and a line break) and were refused for that, as the API server
 * does. Undefined when there was no such field. A null inside a list stays a fault, and so does an unknown field.
 */
function withoutEmptyFields(value: unknown, { issues }: z.ZodError): unknown {
  const rest = structuredClone(value);
  let removed = false;
  for (const { path } of issues) {
    const name = path.at(-1);
    const group = path.slice(0, -1).reduce<unknown>(stepInto, rest);
    if (path[0] !== 'spec' || typeof name !== 'string' || !isObject(group) || group[name] !== null) continue;
    removed = Reflect.deleteProperty(group, name);
  }
  return removed ? rest : undefined;
}

function stepInto(value: unknown, name: PropertyKey): unknown {
  if (Array.isArray(value)) return value[Number(name)];
  return isObject(value) && typeof name === 'string' && Object.hasOwn(value, name) ? value[name] : undefined;
}

interface ParsedModel {
  readonly value?: ModelResource;
  readonly routeIndexes: readonly number[];
  readonly faults: readonly SchemaFault[];
}

/** A fault inside one route removes that route only. Any other fault, or no route left, refuses the Model. */
function parseModel(value: Readonly<Record<string, unknown>>): ParsedModel {
  const spec = value['spec'];
  const all: readonly unknown[] = isObject(spec) && Array.isArray(spec['routes']) ? spec['routes'] : [];
  // Keeps one route more than is allowed: enough for the schema to refuse the list, without validating thousands.
  const routes = all.slice(0, maxRoutes + 1);
  const faults: SchemaFault[] = [];
  let kept = [...routes.keys()];
  // Rules over several fields run once each field is valid, so the remaining routes may show another fault.
  for (;;) {
    const part =
      isObject(spec) && (faults.length > 0 || all.length > routes.length)
        ? { ...spec, routes: kept.map((index) => routes[index]) }
        : spec;
    const parsed = parse(modelSchema, { ...value, spec: part });
    if (parsed.ok) return { value: parsed.value, routeIndexes: kept, faults };
    const bad = new Set(parsed.faults.map(({ path }) => routeOf(path)));
    faults.push(...parsed.faults.map((fault) => ({ ...fault, path: authorsPath(fault.path, kept) })));
    kept = kept.filter((_, position) => !bad.has(position));
    if (bad.has(undefined) || kept.length === 0 || all.length > routes.length) return { routeIndexes: [], faults };
  }
}

/** The path in the list of routes as their author wrote it. */
function authorsPath(path: readonly PropertyKey[], kept: readonly number[]): readonly PropertyKey[] {
  const position = routeOf(path);
  return position === undefined ? path : path.with(2, kept[position] ?? position);
}

function routeOf(path: readonly PropertyKey[]): number | undefined {
  const [spec, routes, index] = path;
  return spec === 'spec' && routes === 'routes' && typeof index === 'number' ? index : undefined;
}

/** Names the place of a fault for the object's author. */
export function problemIn(object: CatalogObject, fault: SchemaFault): CatalogProblem {
  const line = object.lineOf?.(fault.path);
  const where = line === undefined ? object.where : `${object.where}:${line}`;
  return { where, field: fieldPath(fault.path), message: fault.message };
}

/** Most problems that are reported of one object: each is located, written and logged. */
const maxProblems = 100;

function problemsIn(object: CatalogObject, faults: readonly SchemaFault[]): readonly CatalogProblem[] {
  const problems = faults.slice(0, maxProblems).map((fault) => problemIn(object, fault));
  const left = faults.length - problems.length;
  return left === 0 ? problems : [...problems, { where: object.where, field: '', message: `${left} more like these` }];
}
