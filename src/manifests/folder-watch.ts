import { existsSync, type FSWatcher, watch } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';

export interface FolderWatch {
  /**
   * Watches these folders (and only these) from now on; true when all of them could be watched.
   * Every watch is made anew: one on a folder that was replaced by another of the same path is deaf.
   */
  readonly renew: (folders: readonly string[]) => boolean;
  readonly close: () => void;
}

/** Tells when something in the folders may have changed, or the first of them was replaced, removed or made. */
export function watchFolders(root: string, onEvent: () => void): FolderWatch {
  let open: readonly FSWatcher[] = [];

  function start(folder: string, concerns: (name: string | null) => boolean): FSWatcher | undefined {
    try {
      const watcher = watch(folder, (_event, name) => {
        if (concerns(name)) onEvent();
      });
      // The folder went away; what comes in its place is seen by the next renewal.
      watcher.on('error', () => {
        watcher.close();
        onEvent();
      });
      return watcher;
    } catch {
      return undefined;
    }
  }

  return {
    renew: (folders) => {
      const { parent, child } = nearestParent(root);
      const wanted = [
        start(parent, (name) => name === null || name === child),
        ...folders.map((folder) => start(folder, () => true)),
      ];
      const before = open;
      open = wanted.filter((watcher) => watcher !== undefined);
      for (const watcher of before) watcher.close();
      return open.length === wanted.length;
    },
    close: () => {
      for (const watcher of open) watcher.close();
      open = [];
    },
  };
}

/** The closest folder above that exists, and the name in it that leads to the root. */
function nearestParent(root: string): { readonly parent: string; readonly child: string } {
  let child = resolve(root);
  let parent = dirname(child);
  while (!existsSync(parent) && parent !== dirname(parent)) {
    child = parent;
    parent = dirname(child);
  }
  return { parent, child: basename(child) };
}
