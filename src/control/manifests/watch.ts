import { existsSync, type FSWatcher, watch } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { type CheckObject, type KnownFiles, type Manifests, readFolder } from './read.ts';
import type { Clock, CancelTimer } from '../../core/clock.ts';
import type { ParseManifest } from './parse.ts';
import { type Walk, walk } from './walk.ts';

interface ManifestSource extends ManifestWatch {
  /** The first reading of the folder. */
  readonly first: Manifests;
}

/** Reads a manifest folder and goes on following it. Resolves with the first reading; `onChange` receives the later ones. */
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

interface WatchOptions {
  readonly dir: string;
  readonly clock: Clock;
  readonly parse: ParseManifest;
  /** Called with the first reading, and then with every reading that differs from the one before. Must not throw. */
  readonly onChange: (manifests: Manifests) => void;
  /**
   * Finds the problems that make an object broken, so that its last good version stays. Called for all objects of a
   * file in one turn of the event loop. Default: only the syntax is checked.
   */
  readonly check?: CheckObject;
  /** Quiet time after a change before the folder is read. */
  readonly debounceMs?: number;
  /** The folder is read this often without an event, too: network file systems and links into other folders send none. */
  readonly pollMs?: number;
}

type ManifestWatch = ReturnType<typeof watchManifests>;

/** How often a folder is read if it cannot be watched. */
const deafPollMs = 2000;
/** A folder that changes all the time is read at least this often. */
const maxDelayMs = 1000;

/**
 * Reads a manifest folder and follows it until closed. Finds files that are written in place or renamed over, swapped
 * links (a mounted ConfigMap), sub-folders, and a folder that is replaced or missing for a while. Never throws.
 */
function watchManifests(options: WatchOptions) {
  const { dir, clock, parse, onChange, check = () => [], debounceMs = 100, pollMs = 10_000 } = options;
  let known: KnownFiles = new Map();
  let last: Manifests | undefined;
  let phase: 'idle' | 'reading' | 'reading-stale' | 'closed' = 'idle';
  let firstEventAt: number | undefined;
  let cancelTimer: CancelTimer = () => undefined;
  let running = Promise.resolve();
  const folders = watchFolders(dir, noticed);

  function noticed(): void {
    if (phase === 'closed') return;
    if (phase !== 'idle') {
      phase = 'reading-stale';
      return;
    }
    firstEventAt ??= clock.elapsed();
    const left = firstEventAt + maxDelayMs - clock.elapsed();
    arm(Math.max(0, Math.min(debounceMs, left)));
  }

  function arm(delayMs: number): void {
    cancelTimer();
    cancelTimer = clock.after(delayMs, begin);
  }

  function begin(): void {
    cancelTimer();
    firstEventAt = undefined;
    phase = 'reading';
    running = readOnce();
  }

  async function readOnce(): Promise<void> {
    const { walked, watched } = await walkWatched();
    const { files, ...manifests } = await readFolder({ dir, walked, known, check, parse });
    if (isClosed()) return;
    known = files;
    if (last === undefined || differs(last, manifests)) onChange(manifests);
    last = manifests;
    if (isClosed()) return;
    const isStale = phase === 'reading-stale';
    phase = 'idle';
    arm(watched ? pollMs : Math.min(pollMs, deafPollMs));
    if (isStale) noticed();
  }

  /** Watches first and lists again, so that a file made in between is seen. */
  async function walkWatched(): Promise<{ readonly walked: Walk; readonly watched: boolean }> {
    const before = await walk(dir);
    if (isClosed()) return { walked: before, watched: false };
    const watched = folders.renew(before.places);
    const walked = await walk(dir);
    if (walked.places.join('\n') !== before.places.join('\n') && phase === 'reading') phase = 'reading-stale';
    return { walked, watched };
  }

  function isClosed(): boolean {
    return phase === 'closed';
  }

  begin();
  return {
    /** Resolves when nothing is left open. `onChange` is not called any more. */
    close: async (): Promise<void> => {
      phase = 'closed';
      cancelTimer();
      folders.close();
      await running;
    },
  };
}

/** Objects are compared by identity: a file that did not change keeps its objects. */
function differs(a: Manifests, b: Manifests): boolean {
  return (
    a.objects.length !== b.objects.length ||
    a.objects.some((object, index) => object !== b.objects[index]) ||
    JSON.stringify(a.problems) !== JSON.stringify(b.problems)
  );
}

/** Notifies when something in the folders may have changed, or the first of them was replaced, removed or made. */
function watchFolders(root: string, onEvent: () => void) {
  let open: readonly FSWatcher[] = [];

  function start(folder: string, concerns: (name: string | null) => boolean): FSWatcher | undefined {
    try {
      const watcher = watch(folder, (_event, name) => {
        if (concerns(name)) onEvent();
      });
      // The folder is gone. The next renewal watches the folder that takes its place.
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
    /**
     * Watches these folders (and only these) from now on; true when all of them could be watched. Every watch is made
     * again: a watch sees nothing if its folder was replaced by another folder with the same path.
     */
    renew: (folders: readonly string[]): boolean => {
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
    close: (): void => {
      for (const watcher of open) watcher.close();
      open = [];
    },
  };
}

/** The closest existing folder above the root, and the name in it that leads to the root. */
function nearestParent(root: string): { readonly parent: string; readonly child: string } {
  let child = resolve(root);
  let parent = dirname(child);
  while (!existsSync(parent) && parent !== dirname(parent)) {
    child = parent;
    parent = dirname(child);
  }
  return { parent, child: basename(child) };
}
