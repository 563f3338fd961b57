import type { Manifests } from './read.ts';
import { type ManifestWatch, watchManifests, type WatchOptions } from './watch.ts';

export interface ManifestSource extends ManifestWatch {
  /** What the folder held when it was opened. */
  readonly first: Manifests;
}

/** Reads a manifest folder and goes on following it. Resolves with the first reading; onChange has the later ones. */
export function openManifests(options: WatchOptions): Promise<ManifestSource> {
  return new Promise((resolve) => {
    let isFirst = true;
    const watch = watchManifests({
      ...options,
      onChange: (manifests) => {
        if (isFirst) resolve({ first: manifests, close: () => watch.close() });
        else options.onChange(manifests);
        isFirst = false;
      },
    });
  });
}
