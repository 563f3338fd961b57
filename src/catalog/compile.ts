import type { Backend, CatalogObject, CatalogProblem, Cluster, Model, Snapshot } from '../core/catalog.ts';
import { compileBackend } from './compile-backend.ts';
import { type BackendsInSight, compileModel } from './compile-model.ts';
import { isFields } from './is-fields.ts';
import { keepModel, previousBackends } from './keep.ts';
import { problemIn, type ReadResult, readObject } from './read-object.ts';
import { sha256 } from './sha256.ts';
import { unique } from './unique.ts';

export interface Compilation {
  readonly snapshot: Snapshot;
  readonly problems: readonly CatalogProblem[];
}

/**
 * Compiles the catalog. Never throws, and a bad object never breaks a good one: what is wrong is in `problems`, in the
 * order of the objects. With the previous snapshot an object that is still there but has turned bad keeps serving as
 * it last was good; an object that is gone is gone.
 */
export function compile(objects: readonly CatalogObject[], previous?: Snapshot): Compilation {
  const problems = new Map<CatalogObject, CatalogProblem[]>(objects.map((object) => [object, []]));
  const report = (object: CatalogObject, found: readonly CatalogProblem[]): void => {
    problems.get(object)?.push(...found);
  };
  const results = objects.map((object) => readObject(object));
  for (const result of results) report(result.kind === 'bad' ? result.object : result.read.object, result.problems);

  const backends = compileBackends(results, report, previous);
  const models = compileModels(results, { backends, report, previous });
  const clusters = clustersOf(backends.usable);
  const snapshot = { version: versionOf(models, clusters), models, clusters };
  return { snapshot, problems: [...problems.values()].flat() };
}

type Report = (object: CatalogObject, found: readonly CatalogProblem[]) => void;

function compileBackends(
  results: readonly ReadResult[],
  report: Report,
  previous: Snapshot | undefined,
): BackendsInSight {
  const secretsRead = results.flatMap((result) => (result.kind === 'Secret' ? [result.read] : []));
  const named = ({ value }: { readonly value: { readonly metadata: { readonly name: string } } }): string =>
    value.metadata.name;
  const byName = { nameOf: named, path: ['metadata', 'name'], report };
  const secrets = new Map([...unique(secretsRead, byName)].map(([name, read]) => [name, read.value]));
  const backendsRead = results.flatMap((result) => (result.kind === 'Backend' ? [result.read] : []));

  const usable = new Map<string, Backend>();
  const broken = new Set(results.flatMap((result) => rawName(result, 'Backend')));
  for (const [name, { object, value }] of unique(backendsRead, byName)) {
    const compiled = compileBackend(name, value.spec, secrets);
    if (compiled.ok) usable.set(name, compiled.backend);
    else {
      report(
        object,
        compiled.faults.map((fault) => problemIn(object, fault)),
      );
      broken.add(name);
    }
  }
  const before = previousBackends(previous);
  for (const name of broken) {
    const backend = before.get(name);
    if (backend && !usable.has(name)) usable.set(name, backend);
  }
  return { usable, named: new Set([...broken, ...usable.keys()]) };
}

interface ModelContext {
  readonly backends: BackendsInSight;
  readonly report: Report;
  readonly previous: Snapshot | undefined;
}

function compileModels(
  results: readonly ReadResult[],
  { backends, report, previous }: ModelContext,
): ReadonlyMap<string, Model> {
  const reads = results.flatMap((result) => (result.kind === 'Model' ? [result.read] : []));
  const models = new Map<string, Model>();
  const broken = new Set(results.flatMap((result) => rawId(result)));
  const byId = unique(reads, { nameOf: ({ value }) => value.spec.id, path: ['spec', 'id'], report });
  for (const [id, { object, value, routeIndexes }] of byId) {
    const { model, faults } = compileModel(value.spec, routeIndexes, backends);
    report(
      object,
      faults.map((fault) => problemIn(object, fault)),
    );
    if (model) models.set(id, model);
    else broken.add(id);
  }
  for (const id of broken) {
    const kept = models.has(id) ? undefined : keepModel(previous?.models.get(id), backends.usable);
    if (kept) models.set(id, kept);
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

/** Changes whenever anything changes that a request or Envoy could notice, credentials included. */
function versionOf(models: ReadonlyMap<string, Model>, clusters: readonly Cluster[]): string {
  const text = JSON.stringify([[...models.values()], clusters], (_key, value: unknown) =>
    typeof value === 'bigint' ? value.toString() : value,
  );
  return sha256(text).slice(0, 32);
}
