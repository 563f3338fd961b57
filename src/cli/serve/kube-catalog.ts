/** The catalog of a Kubernetes namespace: what its objects declare, as far as it is served, and the last of it on disk. */
import { type Compilation, compile, keepObjects } from '../../catalog/compile.ts';
import { isSameList, noticeFor, stayingAt } from '../../catalog/notice.ts';
import type { CatalogObject, KubeObject, Snapshot } from '../../core/catalog.ts';
import type { CancelTimer, Clock } from '../../core/clock.ts';
import type { CompiledObjects } from './controller.ts';
import type { CatalogReading } from './follow-catalog.ts';

/** Everything a catalog is made of at one moment. */
export interface ClusterReading {
  readonly objects: readonly KubeObject[];
  readonly secrets: readonly CatalogObject[];
}

export interface KubeCatalogOptions {
  /** Begins to follow the cluster. */
  readonly follow: (onReading: (reading: ClusterReading) => void) => ClusterFollower;
  /** The last catalog on disk. */
  readonly kept: {
    readonly load: () => Promise<KeptReading | undefined>;
    readonly save: (objects: readonly CatalogObject[]) => Promise<void>;
    readonly confirm: (inStepAt: number) => Promise<void>;
  };
  readonly clock: Clock;
  /** Has every reading of which something served may have changed, but the first one. */
  readonly onChange: (reading: CatalogReading) => void;
  /** The kept catalog cannot be written. */
  readonly onError: (error: unknown) => void;
  /** How long the first reading may take before the kept one takes its place. Default 5 s. */
  readonly patienceMs?: number;
}

export interface ClusterFollower {
  readonly inStepAt: () => number | undefined;
  readonly close: () => Promise<void>;
}

export interface KeptReading {
  readonly objects: readonly CatalogObject[];
  readonly inStepAt: number;
}

export interface KubeCatalog {
  /** What to serve at first: what the cluster has, else what it had, else nothing. */
  readonly first: CatalogReading;
  /** What was served before. */
  readonly previous: Snapshot | undefined;
  readonly isFirstKept: boolean;
  /** Resolves when there is something to go by: a reading of the cluster or a kept one. */
  readonly known: Promise<void>;
  /** How old what is served may be, milliseconds; 0 while every change is heard of, undefined before anything was. */
  readonly ageMs: () => number | undefined;
  /** Tells what was made of a reading. */
  readonly compiled: (compilation: Compilation) => void;
  /** Undefined until the cluster has been read. */
  readonly latest: () => CompiledObjects | undefined;
  readonly close: () => Promise<void>;
}

const defaultPatienceMs = 5_000;
const confirmEveryMs = 60_000;
/** A catalog of thousands is megabytes: it is not written with every change of many. */
const saveWithinMs = 2_000;

export async function openKubeCatalog(options: KubeCatalogOptions): Promise<KubeCatalog> {
  const { clock, kept, onError } = options;
  const firstRead = Promise.withResolvers<'read'>();
  let newest: ClusterReading | undefined;
  let served: CatalogReading | undefined;
  let isOpen = false;
  let lastCompilation: Compilation | undefined;
  let cancelNotice: CancelTimer = () => undefined;
  let cancelConfirm: CancelTimer = () => undefined;
  let cancelSave: CancelTimer | undefined;

  const loaded = await kept.load();
  let keptObjects = loaded?.objects ?? [];
  let saving = Promise.resolve();
  const follower = options.follow((reading) => {
    newest = reading;
    firstRead.resolve('read');
    serve();
  });

  /** Tells of what is served now, if that is another than before. */
  function serve(): void {
    if (newest === undefined) return;
    const now = clock.now();
    const leavesAtOf = (object: KubeObject) => (object.kind === 'Model' ? noticeFor(object, now)?.leavesAt : undefined);
    const staying = stayingAt(newest.objects, { now, leavesAtOf });
    cancelNotice();
    cancelNotice = clock.after(staying.lookAgainMs, serve);
    const objects = [...newest.secrets, ...staying.items.map(({ declared }) => declared)];
    if (served !== undefined && isSameList(served.objects, objects)) return;
    served = { objects, problems: [] };
    if (isOpen) options.onChange(served);
  }

  function save(): void {
    cancelSave = undefined;
    saving = kept.save(keptObjects).catch(onError);
  }

  function confirm(): void {
    const at = follower.inStepAt();
    if (at !== undefined) void kept.confirm(at);
    cancelConfirm = clock.after(confirmEveryMs, confirm);
  }

  const impatient = Promise.withResolvers<'late'>();
  const cancelPatience = clock.after(options.patienceMs ?? defaultPatienceMs, () => impatient.resolve('late'));
  await Promise.race([firstRead.promise, impatient.promise]);
  cancelPatience();
  const first = served ?? { objects: keptObjects, problems: [] };
  const isFirstKept = served === undefined && loaded !== undefined;
  isOpen = true;
  confirm();
  return {
    first,
    isFirstKept,
    previous: loaded === undefined ? undefined : compile(loaded.objects).snapshot,
    known: isFirstKept ? Promise.resolve() : firstRead.promise.then(() => undefined),
    ageMs: () => {
      const at = follower.inStepAt() ?? loaded?.inStepAt;
      return at === undefined ? undefined : Math.max(0, clock.now() - at);
    },
    compiled: (compilation) => {
      lastCompilation = compilation;
      // What stands in for the cluster is no news of it.
      if (newest === undefined) return;
      const objects = keepObjects(compilation.results, keptObjects);
      if (isSameList(objects, keptObjects)) return;
      keptObjects = objects;
      cancelSave ??= clock.after(saveWithinMs, save);
    },
    latest: () =>
      newest === undefined || lastCompilation === undefined
        ? undefined
        : { objects: newest.objects, compilation: lastCompilation },
    close: async () => {
      cancelNotice();
      cancelConfirm();
      await follower.close();
      cancelSave?.();
      if (cancelSave !== undefined) save();
      await saving;
    },
  };
}
