import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../process/clock.ts';
import type { Model } from '../../core/catalog.ts';
import { refusal } from '../../books/core/operator-refusals.ts';
import type { NamedEntry, UpstreamPrice } from './upstream-manifests.ts';

/** The source of the catalog, according to the command line. */
export type StartSource =
  | { readonly kind: 'demo' }
  | { readonly kind: 'manifests'; readonly folder: string }
  /** A namespace of the cluster that KUBECONFIG names; without one, that of the current context. */
  | { readonly kind: 'kubernetes'; readonly namespace: string | undefined }
  | { readonly kind: 'upstream'; readonly url: URL; readonly key: string | undefined; readonly price: UpstreamPrice }
  /** An empty folder: the operator puts manifests into it while the gateway runs. */
  | { readonly kind: 'empty' };

/** Where the service finds its catalog. */
export type CatalogPlace =
  | { readonly kind: 'folder'; readonly folder: string }
  | { readonly kind: 'kubernetes'; readonly namespace: string };

/** A place, and whether it has a Model that should be listed soon. */
export interface FoundCatalog {
  readonly catalog: CatalogPlace;
  readonly hasModels: boolean;
  /** The models of a folder, by id. Undefined: they are in a cluster. */
  readonly models: ReadonlyMap<string, Model> | undefined;
}

interface FindOptions {
  readonly data: string;
  readonly report: (line: string) => void;
  readonly signal: AbortSignal;
}

/**
 * Finds, or makes, the catalog of every source but the demo engine, whose port is not known before it runs.
 * Throws a Refusal when the source is missing, broken or unreachable. Loads only the code of the given source.
 */
export async function findCatalog(
  source: Exclude<StartSource, { readonly kind: 'demo' }>,
  options: FindOptions,
): Promise<FoundCatalog> {
  switch (source.kind) {
    case 'kubernetes': {
      const { findKubernetes } = await import('./kubernetes-place.ts');
      const { namespace, hasModels } = await findKubernetes(source.namespace, options);
      return { catalog: { kind: 'kubernetes', namespace }, hasModels, models: undefined };
    }
    case 'manifests':
      return inFolder(source.folder);
    case 'upstream':
      return inFolder(await listUpstream(source, options));
    case 'empty': {
      const folder = join(options.data, 'manifests');
      mkdirSync(folder, { recursive: true });
      return { catalog: { kind: 'folder', folder }, hasModels: false, models: undefined };
    }
  }
}

/** Writes manifests for every model that the engine lists, and resolves to their folder. */
async function listUpstream(
  { url, key, price }: Extract<StartSource, { readonly kind: 'upstream' }>,
  { data, report, signal }: FindOptions,
): Promise<string> {
  const { probeUpstream } = await import('./upstream.ts');
  const { writeUpstreamManifests } = await import('./upstream-manifests.ts');
  const upstream = await probeUpstream(url, { signal, key });
  report(`${upstream.base.href} lists ${upstream.entries.length} model(s); engine type: ${upstream.engine}.`);
  const folder = join(data, 'manifests-upstream');
  const models = await writeUpstreamManifests(upstream, { folder, price, key, now: systemClock.now() });
  for (const line of renamedLines(models, join(folder, 'models.yaml'))) report(line);
  return folder;
}

/** Most models whose names are printed. */
const maxRenamed = 8;

/** A line for each model whose name in the catalog differs from the engine's name for it. */
export function renamedLines(models: readonly NamedEntry[], file: string): readonly string[] {
  const renamed = models.filter(({ entry, id }) => entry.id.toLowerCase() !== id);
  const lines = renamed.slice(0, maxRenamed).map(({ entry, id, alias }) => {
    const shown = JSON.stringify(entry.id);
    return alias === undefined
      ? `${shown} is called ${id} here.`
      : `${shown} is called ${id} here; requests may name it ${alias}, too.`;
  });
  const more = renamed.length - lines.length;
  return more > 0 ? [...lines, `${more} more model(s) have other names here: ${file}`] : lines;
}

/**
 * Reads a folder like the service does. Throws a Refusal with a line `where: field: message` per problem. A running
 * service reports a broken file and serves the last good catalog. At the start there is no such catalog, and the
 * operator is watching.
 */
async function inFolder(folder: string): Promise<FoundCatalog> {
  const { checkManifests, problemLine } = await import('../../control/reconcilers/check-manifests.ts');
  const { snapshot, problems } = await checkManifests(folder, 'refused');
  const { models } = snapshot;
  if (problems.length === 0) return { catalog: { kind: 'folder', folder }, hasModels: models.size > 0, models };
  const lines = problems.map((problem) => `\n  ${problemLine(problem)}`);
  throw refusal('manifests_refused', { folder, problems: lines.join('') });
}
