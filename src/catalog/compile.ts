import { hash } from 'node:crypto';
import type { Backend, CatalogObject, CatalogProblem, Cluster, Model, Snapshot } from '../core/catalog.ts';
import { compileBackend, type CompiledBackend, secretsOf } from './compile-backend.ts';
import { type BackendsInSight, type CompiledModel, compileModel } from './compile-model.ts';
import { isFields } from './is-fields.ts';
import { problemIn, readObject, type ReadResult } from './read-object.ts';
import { createRemembered } from './remember.ts';
import { unique } from './unique.ts';
import type { JudgedProblem, ProblemCause, Verdict, Verdicts } from './verdict.ts';

/** The backends that the previous snapshot's routes used, by name. */
function previousBackends(previous: Snapshot | undefined): ReadonlyMap<string, Backend> {
  const routes = [...(previous?.models.values() ?? [])].flatMap((model) => model.routes);
  return new Map(routes.map(({ backend }) => [backend.name, backend]));
}

/**
 * The last good version of a Model that has turned bad, on the backends as they are now. Undefined when there was none,
 * or when every backend it was served by is gone: a removed Backend must not go on serving.
 */
function keepModel(last: Model | undefined, usable: ReadonlyMap<string, Backend>): Model | undefined {
  const routes = (last?.routes ?? []).flatMap((route) => {
    const backend = usable.get(route.backend.name);
    return backend ? [{ ...route, backend }] : [];
  });
  return last && routes.length > 0 ? { ...last, routes } : undefined;
}

const digestOnce = createRemembered<Model, string>();

/** Changes whenever anything changes that a request or Envoy could notice, credentials included. */
function versionOf(models: ReadonlyMap<string, Model>, clusters: readonly Cluster[]): string {
  const parts = [...models.values()].map((model) =>
    digestOnce(model, [], () => hash('sha256', textOf(model)).slice(0, 32)),
  );
  // A cluster's name is a digest of its content.
  return hash('sha256', [...parts, ...clusters.map(({ name }) => name)].join('\n')).slice(0, 32);
}

function textOf(model: Model): string {
  return JSON.stringify(model, (_key, value: unknown) => (typeof value === 'bigint' ? value.toString() : value));
}

export interface Compilation {
  readonly snapshot: Snapshot;
  readonly problems: readonly CatalogProblem[];
  /** What became of each object. */
  readonly verdicts: Verdicts;
  /** The backends of the snapshot, by name, those without a route included. */
  readonly backends: ReadonlyMap<string, Backend>;
}

/**
 * Compiles the catalog. Never throws, and a bad object never breaks a good one: what is wrong is in `problems`, in the
 * order of the objects. With the previous snapshot an object that is still there but has turned bad keeps serving as
 * it last was good; an object that is gone is gone.
 */
export function compile(objects: readonly CatalogObject[], previous?: Snapshot): Compilation {
  const problems = new Map<CatalogObject, JudgedProblem[]>(objects.map((object) => [object, []]));
  const stands = new Map<CatalogObject, Verdict['stand']>();
  const judge: Judge = {
    report: (object, found, cause) => {
      problems.get(object)?.push(...found.map((problem) => ({ cause, problem })));
    },
    stands: (object, stand) => void stands.set(object, stand),
  };
  const results = objects.map((object) => readObject(object));
  for (const result of results) judge.report(objectOf(result), result.problems, 'invalid');

  const backends = compileBackends(results, judge, previous);
  const models = compileModels(results, { backends, judge, previous });
  const clusters = clustersOf(backends.usable);
  const snapshot = { version: versionOf(models, clusters), models, clusters };
  const verdicts = new Map(
    [...problems].map(([object, found]) => [object, { stand: stands.get(object) ?? 'refused', problems: found }]),
  );
  return {
    snapshot,
    problems: [...problems.values()].flat().map(({ problem }) => problem),
    verdicts,
    backends: backends.usable,
  };
}

interface Judge {
  readonly report: (object: CatalogObject, found: readonly CatalogProblem[], cause: ProblemCause) => void;
  /** Said of those that are not refused. */
  readonly stands: (object: CatalogObject, stand: Verdict['stand']) => void;
}

function objectOf(result: ReadResult): CatalogObject {
  return result.kind === 'bad' ? result.object : result.read.object;
}

const backendOnce = createRemembered<CatalogObject, CompiledBackend>();
const modelOnce = createRemembered<CatalogObject, CompiledModel>();

type Report = (object: CatalogObject, found: readonly CatalogProblem[]) => void;

function compileBackends(
  results: readonly ReadResult[],
  judge: Judge,
  previous: Snapshot | undefined,
): BackendsInSight {
  const secretsRead = results.flatMap((result) => (result.kind === 'Secret' ? [result.read] : []));
  const named = ({ value }: { readonly value: { readonly metadata: { readonly name: string } } }): string =>
    value.metadata.name;
  const report: Report = (object, found) => judge.report(object, found, 'taken');
  const byName = { nameOf: named, path: ['metadata', 'name'], report };
  const secrets = new Map([...unique(secretsRead, byName)].map(([name, read]) => [name, read.value]));
  for (const { object } of secretsRead) judge.stands(object, 'taken');
  const backendsRead = results.flatMap((result) => (result.kind === 'Backend' ? [result.read] : []));

  const usable = new Map<string, Backend>();
  const broken = new Map(
    results.flatMap((result) => rawName(result, 'Backend').map((name) => [name, objectOf(result)])),
  );
  for (const [name, { object, value }] of unique(backendsRead, byName)) {
    const used = secretsOf(value.spec).map((secret) => secrets.get(secret.name));
    const compiled = backendOnce(object, used, () => compileBackend(name, value.spec, secrets));
    if (compiled.ok) {
      usable.set(name, compiled.backend);
      judge.stands(object, 'taken');
    } else {
      const found = compiled.faults.map((fault) => problemIn(object, fault));
      judge.report(object, found, 'reference');
      broken.set(name, object);
    }
  }
  const before = previousBackends(previous);
  for (const [name, object] of broken) {
    const backend = before.get(name);
    if (backend === undefined || usable.has(name)) continue;
    usable.set(name, backend);
    judge.stands(object, 'kept');
  }
  return { usable, named: new Set([...broken.keys(), ...usable.keys()]) };
}

interface ModelContext {
  readonly backends: BackendsInSight;
  readonly judge: Judge;
  readonly previous: Snapshot | undefined;
}

function compileModels(
  results: readonly ReadResult[],
  { backends, judge, previous }: ModelContext,
): ReadonlyMap<string, Model> {
  const reads = results.flatMap((result) => (result.kind === 'Model' ? [result.read] : []));
  const models = new Map<string, Model>();
  const broken = new Map(results.flatMap((result) => rawId(result).map((id) => [id, objectOf(result)])));
  const report: Report = (object, found) => judge.report(object, found, 'taken');
  const byId = unique(reads, { nameOf: ({ value }) => value.spec.id, path: ['spec', 'id'], report });
  for (const [id, { object, value, routeIndexes }] of byId) {
    const used = value.spec.routes.map(({ backend }) => backends.usable.get(backend) ?? backends.named.has(backend));
    const { model, faults } = modelOnce(object, used, () => compileModel(value.spec, routeIndexes, backends));
    const found = faults.map((fault) => problemIn(object, fault));
    judge.report(object, found, 'reference');
    if (model) {
      models.set(id, model);
      judge.stands(object, 'taken');
    } else broken.set(id, object);
  }
  for (const [id, object] of broken) {
    const kept = models.has(id) ? undefined : keepModel(previous?.models.get(id), backends.usable);
    if (kept === undefined) continue;
    models.set(id, kept);
    judge.stands(object, 'kept');
  }
  return new Map([...models].sort(([a], [b]) => order(a, b)));
}

/** Name of an object that failed its schema but still says what it is. */
function rawName(result: ReadResult, kind: string): readonly string[] {
  if (result.kind !== 'bad' || !isFields(result.object.value)) return [];
  const { kind: given, metadata } = result.object.value;
  return given === kind && isFields(metadata) && typeof metadata['name'] === 'string' ? [metadata['name']] : [];
}

function rawId(result: ReadResult): readonly string[] {
  if (rawName(result, 'Model').length === 0 || result.kind !== 'bad' || !isFields(result.object.value)) return [];
  const { spec } = result.object.value;
  return isFields(spec) && typeof spec['id'] === 'string' ? [spec['id']] : [];
}

function clustersOf(backends: ReadonlyMap<string, Backend>): readonly Cluster[] {
  return [...backends.values()].map(({ cluster }) => cluster).sort((a, b) => order(a.name, b.name));
}

/** By code unit: the same on every machine, whatever its language. */
function order(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
