import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../process/clock.ts';
import { checkManifests, problemLine } from '../commands/catalog.ts';
import type { CatalogSource } from './options.ts';
import { StartRefusal } from './refusal.ts';
import { writeUpstreamManifests } from './upstream-manifests.ts';
import { probeUpstream } from './upstream-probe.ts';

/**
 * Makes the manifest folder of every source but the demo engine, whose port is not known yet.
 * Throws StartRefusal when the source is missing, broken or unreachable.
 */
export async function prepareCatalog(
  source: Exclude<CatalogSource, { readonly kind: 'demo' | 'kubernetes' }>,
  options: { readonly data: string; readonly report: (line: string) => void; readonly signal: AbortSignal },
): Promise<string> {
  const { data, report, signal } = options;
  switch (source.kind) {
    case 'manifests':
      await listModels(source.folder);
      return source.folder;
    case 'upstream': {
      const { url, key, price } = source;
      const upstream = await probeUpstream(url, { signal, ...(key === undefined ? {} : { key }) });
      report(`${upstream.base.href} lists ${upstream.entries.length} model(s); taken for ${upstream.engine}.`);
      const folder = join(data, 'manifests-upstream');
      const now = systemClock.now();
      await writeUpstreamManifests(upstream, { folder, price, now, ...(key === undefined ? {} : { key }) });
      return folder;
    }
    case 'empty': {
      const folder = join(data, 'manifests');
      mkdirSync(folder, { recursive: true });
      return folder;
    }
  }
}

/**
 * The ids of a folder's models, read the way the service will. Throws StartRefusal with a line
 * `where: field: message` per problem: once it runs, a broken file is reported and the last good catalog keeps
 * serving, but at the start there is no last good one and the operator is looking.
 */
export async function listModels(folder: string): Promise<readonly string[]> {
  const { snapshot, problems } = await checkManifests(folder);
  if (problems.length === 0) return [...snapshot.models.keys()];
  const lines = problems.map((problem) => `  ${problemLine(problem)}`);
  throw new StartRefusal(`The manifests in ${folder} are not in order:\n${lines.join('\n')}`);
}
