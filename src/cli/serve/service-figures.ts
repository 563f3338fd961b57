/** What the gauges of a service show of its catalog, its store and its disk. */
import { statfs } from 'node:fs/promises';
import type { Route, Snapshot } from '../../core/catalog.ts';
import type { OpenStore } from '../../store/open-store.ts';
import type { StoreFigures } from '../../telemetry/ops/store-gauges.ts';

/** The catalog as its gauges show it. */
export function catalogFigures({ models }: Snapshot, isServing: (route: Route) => boolean) {
  const routes = [...models.values()].flatMap(({ id, routes: ofModel }) =>
    ofModel.map((route) => ({ model: id, backend: route.backend.name, isServing: isServing(route) })),
  );
  return { models, routes };
}

/** The disk of a folder; undefined where its file system does not tell. */
export function diskOf(folder: string): Promise<{ readonly free: number; readonly size: number } | undefined> {
  return statfs(folder).then(
    ({ bavail, blocks, bsize }) => ({ free: bavail * bsize, size: blocks * bsize }),
    () => undefined,
  );
}

/** The store as its gauges show it. `isDamaged`: undefined where a server keeps the data. */
export function storeFigures(store: OpenStore, isDamaged: boolean | undefined): StoreFigures {
  return { ...store.status(), ...store.upkeep(), waitingRows: store.waiting(), isDamaged };
}
