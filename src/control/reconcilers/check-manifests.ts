/** Reads a folder of manifests once and reports what is wrong in it. */
import { type Compilation, compile } from '../catalog/compile.ts';
import { problemIn, readObject } from '../catalog/read-object.ts';
import type { CatalogObject, CatalogProblem } from '../../core/catalog.ts';
import { messageOf } from '../../core/failure.ts';
import type { SchemaFault } from '../core/schema-faults.ts';
import { type Manifests, parseManifests, readManifests } from '../manifests/read.ts';
import { podFields, type PodSupport } from '../catalog/compile-backend.ts';

/** One line for people: `where: field: message`, without the field when the problem is the whole document. */
export function problemLine({ where, field, message }: CatalogProblem): string {
  return [where, field, message].filter((part) => part !== '').join(': ');
}

/** The catalog of a folder of manifests, with its problems and notes. */
export interface ManifestReport extends Pick<Compilation, 'snapshot' | 'backends' | 'problems'> {
  /** Fields that are right in a cluster, but would be a problem for a gateway that serves the folder itself. */
  readonly notes: readonly CatalogProblem[];
}

/**
 * Reads and compiles a manifest folder once. Never throws; a missing or empty folder is a problem that names it.
 * Services and InferencePools are `followed` where the folder may be meant for `kubectl apply`, and `refused` where a
 * gateway is to serve it.
 */
export async function checkManifests(dir: string, pods: PodSupport): Promise<ManifestReport> {
  return report(await readManifests(dir), { where: dir, pods });
}

/** The same for one text with manifests. */
export async function checkManifestText(
  { name, text }: { readonly name: string; readonly text: string },
  pods: PodSupport,
): Promise<ManifestReport> {
  return report(await parseManifests(name, text), { where: name, pods });
}

async function report(
  { objects, problems }: Manifests,
  { where, pods }: { readonly where: string; readonly pods: PodSupport },
): Promise<ManifestReport> {
  const { snapshot, backends, problems: found } = compile(objects, { pods });
  const isEmpty = objects.length + problems.length === 0;
  const empty = {
    where,
    field: '',
    message: 'expected manifests: files ending in .yaml, .yml or .json with objects in them',
  };
  const notes = objects.flatMap((object) => {
    const read = readObject(object);
    if (read.kind !== 'Backend') return [];
    const { spec } = read.read.value;
    return podFields.flatMap((field) => (spec[field] === undefined ? [] : [problemIn(object, clusterNote(field))]));
  });
  return {
    snapshot,
    backends,
    problems: [...problems, ...found, ...(await ruleProblems(objects)), ...(isEmpty ? [empty] : [])],
    notes,
  };
}

/** The expressions of Identities that cannot be compiled. The API server takes them, and the ledger does not. */
async function ruleProblems(objects: readonly CatalogObject[]): Promise<readonly CatalogProblem[]> {
  const rules = objects.flatMap((object) => {
    const result = readObject(object);
    if (result.kind !== 'Identity') return [];
    const { match, workspaceClaim, tags } = result.read.value.spec;
    return [
      ...match.map((text, index) => ({ object, path: ['match', index], text })),
      ...(workspaceClaim === undefined ? [] : [{ object, path: ['workspaceClaim'], text: workspaceClaim }]),
      ...Object.entries(tags).map(([name, text]) => ({ object, path: ['tags', name], text })),
    ];
  });
  if (rules.length === 0) return [];
  // CEL takes a tenth of a second to load, and few folders need it.
  const { compileRule } = await import('../../core/claim-rule.ts');
  return rules.flatMap(({ object, path, text }) => {
    try {
      compileRule(text);
      return [];
    } catch (error) {
      return [problemIn(object, { path: ['spec', ...path], message: messageOf(error) })];
    }
  });
}

function clusterNote(field: (typeof podFields)[number]): SchemaFault {
  const what = { service: 'a Service', inferencePool: 'an InferencePool' }[field];
  const message = `for kubectl apply; a gateway that serves this folder itself (--manifests) cannot follow ${what}`;
  return { path: ['spec', field], message };
}
