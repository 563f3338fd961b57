import { hash } from 'node:crypto';
import type { Backend, CatalogObject, CatalogProblem, Cluster, Model, Snapshot } from '../../core/catalog.ts';
import { claimAliases, createdAt, whyFirst } from './aliases.ts';
import { compileBackend, type CompiledBackend, type PodSupport } from './compile-backend.ts';
import { type BackendsInSight, type CompiledModel, compileModel } from './compile-model.ts';
import { problemIn, type Read, readObject, type ReadResult } from './read-object.ts';
import { comparableText, isObject } from '../../core/json.ts';
import { createRemembered } from './remember.ts';
import type { ConfigMapObject } from './resources/secret.ts';
import { asSecret, referencesIn, referredSecrets } from './secrets.ts';
import { kindOf, modelIdOf, nameOf } from '../core/raw-object.ts';

/**
 * The cause of a problem. `invalid`: the object breaks a rule of its kind. `name-conflict`: another object has the name or
 * id. `reference`: something that the object refers to is missing or cannot be used.
 */
type ProblemCause = 'invalid' | 'name-conflict' | 'reference';

export interface ObjectProblem {
  readonly cause: ProblemCause;
  readonly problem: CatalogProblem;
}

/** The result of one object in a compilation. */
export interface ObjectResult {
  /**
   * `accepted`: the snapshot has what the object declares, except for the parts that `problems` names. `kept`: the
   * snapshot has an earlier, good version. `refused`: the snapshot has nothing of the object.
   */
  readonly state: 'accepted' | 'kept' | 'refused';
  readonly problems: readonly ObjectProblem[];
}

type ObjectResults = ReadonlyMap<CatalogObject, ObjectResult>;

export interface Compilation {
  readonly snapshot: Snapshot;
  readonly problems: readonly CatalogProblem[];
  /** The result of each object. */
  readonly results: ObjectResults;
  /** The backends of the snapshot by name, including those without a route. */
  readonly backends: ReadonlyMap<string, Backend>;
}

interface CompileOptions {
  /**
   * The snapshot before this one. An object that has turned bad keeps serving in its version there. Absent: there was
   * no snapshot.
   */
  readonly previous?: Snapshot | undefined;
  /** Default: `followed`. */
  readonly pods?: PodSupport | undefined;
}

/**
 * Compiles the catalog. Never throws, and a bad object never breaks a good one: the faults are in `problems`, in the
 * order of the objects. An object that is gone leaves the snapshot, even if the previous snapshot had it.
 */
export function compile(
  objects: readonly CatalogObject[],
  { previous, pods = 'followed' }: CompileOptions = {},
): Compilation {
  const problems = new Map<CatalogObject, ObjectProblem[]>(objects.map((object) => [object, []]));
  const states = new Map<CatalogObject, ObjectResult['state']>();
  const collected: ResultCollector = {
    report: (object, found, cause) => {
      problems.get(object)?.push(...found.map((problem) => ({ cause, problem })));
    },
    setState: (object, state) => void states.set(object, state),
  };
  const reads = objects.map(readObject);
  for (const read of reads) collected.report(objectOf(read), read.problems, 'invalid');

  acceptAccounts(reads, collected);
  const backends = compileBackends(reads, { collected, previous, pods });
  const { models, aliases } = compileModels(reads, { backends, collected, previous });
  const clusters = clustersOf(backends.usable);
  const snapshot = { version: versionOf({ models, aliases, clusters }), models, aliases, clusters };
  const results = new Map(
    [...problems].map(([object, found]) => [object, { state: states.get(object) ?? 'refused', problems: found }]),
  );
  return {
    snapshot,
    problems: [...problems.values()].flat().map(({ problem }) => problem),
    results,
    backends: backends.usable,
  };
}

function acceptAccounts(reads: readonly ReadResult[], { report, setState }: ResultCollector): void {
  for (const sameKind of Map.groupBy(reads.filter(isAccount), ({ kind }) => kind).values()) {
    const named = unique(
      sameKind.map(({ read }) => read),
      {
        nameOf: ({ value }) => value.metadata.name,
        path: ['metadata', 'name'],
        report: (object, found) => report(object, found, 'name-conflict'),
      },
    );
    for (const { object } of named.values()) setState(object, 'accepted');
  }
}

const kindsOfAccounts = ['Workspace', 'ApiKey', 'Credit', 'Identity'] as const;

/** Whether an object declares an account. The catalog has nothing of it. */
export const isAccount = (
  result: ReadResult,
): result is Extract<ReadResult, { readonly kind: (typeof kindsOfAccounts)[number] }> =>
  kindsOfAccounts.some((kind) => kind === result.kind);

interface ResultCollector {
  readonly report: (object: CatalogObject, found: readonly CatalogProblem[], cause: ProblemCause) => void;
  /** Call for every object that is not refused. */
  readonly setState: (object: CatalogObject, state: ObjectResult['state']) => void;
}

function objectOf(result: ReadResult): CatalogObject {
  return result.kind === 'bad' ? result.object : result.read.object;
}

const secretOnce = createRemembered<CatalogObject, ReturnType<typeof asSecret>>();
/** The same object as long as the ConfigMap does not change, so that its Backends are not compiled again. */
const configMapOnce = ({ object, value }: Read<ConfigMapObject>) => secretOnce(object, [], () => asSecret(value));
const backendOnce = createRemembered<CatalogObject, CompiledBackend>();
const modelOnce = createRemembered<CatalogObject, CompiledModel>();

type Report = (object: CatalogObject, found: readonly CatalogProblem[]) => void;

function compileBackends(reads: readonly ReadResult[], { collected, previous, pods }: BackendContext): BackendsInSight {
  const secretsRead = reads.flatMap((result) => (result.kind === 'Secret' ? [result.read] : []));
  const configMapsRead = reads.flatMap((result) => (result.kind === 'ConfigMap' ? [result.read] : []));
  const named = ({ value }: { readonly value: { readonly metadata: { readonly name: string } } }): string =>
    value.metadata.name;
  const report: Report = (object, found) => collected.report(object, found, 'name-conflict');
  const byName = { nameOf: named, path: ['metadata', 'name'], report };
  const secrets = new Map([
    ...[...unique(secretsRead, byName)].map(([name, read]) => [`Secret/${name}`, read.value] as const),
    ...[...unique(configMapsRead, byName)].map(([name, read]) => [`ConfigMap/${name}`, configMapOnce(read)] as const),
  ]);
  for (const { object } of [...secretsRead, ...configMapsRead]) collected.setState(object, 'accepted');
  const backendsRead = reads.flatMap((result) => (result.kind === 'Backend' ? [result.read] : []));

  const usable = new Map<string, Backend>();
  const broken = new Map(reads.flatMap((result) => rawName(result, 'Backend').map((name) => [name, objectOf(result)])));
  for (const [name, { object, value }] of unique(backendsRead, byName)) {
    const used = [pods, ...referencesIn(value.spec).map(({ kind, name: of }) => secrets.get(`${kind}/${of}`))];
    const compiled = backendOnce(object, used, () => compileBackend(name, value.spec, { secrets, pods }));
    if (compiled.ok) {
      usable.set(name, compiled.backend);
      collected.setState(object, 'accepted');
    } else {
      const found = compiled.faults.map((fault) => problemIn(object, fault));
      collected.report(object, found, 'reference');
      broken.set(name, object);
    }
  }
  const before = previousBackends(previous);
  for (const [name, object] of broken) {
    const backend = before.get(name);
    if (backend === undefined || usable.has(name)) continue;
    usable.set(name, backend);
    collected.setState(object, 'kept');
  }
  return { usable, named: new Set([...broken.keys(), ...usable.keys()]) };
}

function compileModels(
  reads: readonly ReadResult[],
  { backends, collected, previous }: ModelContext,
): Pick<Snapshot, 'models' | 'aliases'> {
  const modelsRead = reads.flatMap((result) => (result.kind === 'Model' ? [result.read] : []));
  const models = new Map<string, Model>();
  /** The objects that the models come from, by id. */
  const owners = new Map<string, CatalogObject>();
  const broken = new Map(reads.flatMap((result) => rawId(result).map((id) => [id, objectOf(result)])));
  const report: Report = (object, found) => collected.report(object, found, 'name-conflict');
  const byId = unique(modelsRead, { nameOf: ({ value }) => value.spec.id, path: ['spec', 'id'], report });
  for (const [id, { object, value, routeIndexes }] of byId) {
    const used = value.spec.routes.map(({ backend }) => backends.usable.get(backend) ?? backends.named.has(backend));
    const { model, faults } = modelOnce(object, used, () => compileModel(value.spec, routeIndexes, backends));
    const found = faults.map((fault) => problemIn(object, fault));
    collected.report(object, found, 'reference');
    if (model) {
      models.set(id, model);
      owners.set(id, object);
      collected.setState(object, 'accepted');
    } else broken.set(id, object);
  }
  for (const [id, object] of broken) {
    const last = models.has(id) ? undefined : keepModel(previous?.models.get(id), backends.usable);
    if (last === undefined) continue;
    models.set(id, last);
    owners.set(id, object);
    collected.setState(object, 'kept');
  }
  const declared = new Map([...byId].map(([id, { object }]) => [id, object]));
  const { aliases, refused } = claimAliases({ models, owners, declared });
  const kept = new Set(broken.values());
  // A kept object serves in an earlier version, so a fault of that version is not reported to its author.
  for (const { object, fault } of refused) if (!kept.has(object)) report(object, [problemIn(object, fault)]);
  return { models: new Map([...models].sort(([a], [b]) => order(a, b))), aliases };
}

/** The name of an object that failed its schema but has a kind and a name. */
function rawName(result: ReadResult, kind: string): readonly string[] {
  const name = result.kind === 'bad' && kindOf(result.object) === kind ? nameOf(result.object) : undefined;
  return name === undefined ? [] : [name];
}

function rawId(result: ReadResult): readonly string[] {
  const id = rawName(result, 'Model').length > 0 ? modelIdOf(objectOf(result)) : undefined;
  return id === undefined ? [] : [id];
}

interface UniqueOptions<Item> {
  readonly nameOf: (item: Item) => string;
  /** The field that must be unique. */
  readonly path: readonly PropertyKey[];
  readonly report: (object: CatalogObject, problems: readonly CatalogProblem[]) => void;
}

/**
 * Keeps one object per name, so that no new object can take over a name that is in use. Keeps the object created first
 * or, without known times, the first one in order. Reports the others.
 */
function unique<Item extends Read<unknown>>(
  items: readonly Item[],
  options: UniqueOptions<Item>,
): ReadonlyMap<string, Item> {
  const kept = new Map<string, Item>();
  const dated = items.map((item) => ({ item, createdAt: createdAt(item.object) }));
  for (const { item } of dated.sort((a, b) => a.createdAt - b.createdAt)) {
    const name = options.nameOf(item);
    const first = kept.get(name);
    if (first === undefined) kept.set(name, item);
    else {
      const message = `expected a name of its own, "${name}" is already taken by ${first.object.where}${whyFirst(first.object, item.object)}`;
      options.report(item.object, [problemIn(item.object, { path: options.path, message })]);
    }
  }
  return kept;
}

/**
 * The last good version of a Model that has turned bad, with the current versions of its backends. Undefined when there
 * was no good version, or when every backend that served it is gone: a removed Backend must not go on serving.
 */
function keepModel(last: Model | undefined, usable: ReadonlyMap<string, Backend>): Model | undefined {
  const routes = (last?.routes ?? []).flatMap((route) => {
    const backend = usable.get(route.backend.name);
    return backend ? [{ ...route, backend }] : [];
  });
  return last && routes.length > 0 ? { ...last, routes } : undefined;
}

/** The backends that the previous snapshot's routes used, by name. */
function previousBackends(previous: Snapshot | undefined): ReadonlyMap<string, Backend> {
  const routes = [...(previous?.models.values() ?? [])].flatMap((model) => model.routes);
  return new Map(routes.map(({ backend }) => [backend.name, backend]));
}

function clustersOf(backends: ReadonlyMap<string, Backend>): readonly Cluster[] {
  return [...backends.values()].map(({ cluster }) => cluster).sort((a, b) => order(a.name, b.name));
}

const digestOnce = createRemembered<Model, string>();

/** Changes whenever anything changes that a request or Envoy could notice, credentials included. */
function versionOf({ models, aliases, clusters }: Omit<Snapshot, 'version'>): string {
  const parts = [...models.values()].map((model) =>
    digestOnce(model, [], () => hash('sha256', comparableText(model)).slice(0, 32)),
  );
  // A cluster's name is a digest of its content without the endpoints.
  const clusterParts = clusters.map(({ name, endpoints }) => `${name} ${JSON.stringify(endpoints)}`);
  const aliasParts = [...aliases].map((pair) => pair.join(' ')).sort();
  return hash('sha256', [...parts, ...aliasParts, ...clusterParts].join('\n')).slice(0, 32);
}

/** Compares by code unit, which is the same on every machine, whatever its language. */
function order(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/**
 * The objects to keep for a start without their source: the last good version of each. The Secrets of an earlier version
 * of a Backend are kept with it.
 */
export function keepObjects(results: ObjectResults, before: readonly CatalogObject[]): readonly CatalogObject[] {
  const earlier = new Map(before.map((object) => [object.where, object]));
  const kept = new Map<string, CatalogObject>();
  const old: CatalogObject[] = [];
  for (const [object, { state }] of results) {
    if (state === 'accepted') kept.set(object.where, object);
    const last = state === 'kept' ? earlier.get(object.where) : undefined;
    if (last === undefined) continue;
    kept.set(object.where, last);
    old.push(last);
  }
  for (const where of referredSecrets(old).keys()) {
    const secret = earlier.get(where);
    if (secret !== undefined && !kept.has(where)) kept.set(where, secret);
  }
  return [...kept.values()].filter(({ value }) => isObject(value));
}

interface ObjectContext {
  readonly collected: ResultCollector;
  readonly previous: Snapshot | undefined;
}

interface BackendContext extends ObjectContext {
  readonly pods: PodSupport;
}

interface ModelContext extends ObjectContext {
  readonly backends: BackendsInSight;
}
